package logcheck

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// tried is a send of which a stock SDK made several tries, by the ids that their
// entries bear and how long after each other they were written, in milliseconds.
func (s *scene) tried(stock bool, ids []string, apart int64, between ...queue.Command) {
	s.t.Helper()
	e, _ := s.call(history.Event{Action: history.Send, Group: "c", Dedup: "7", Body: "tried", Detail: history.Detail{Stock: stock}}, nil)
	var told queue.SentEntry
	for i, id := range ids {
		if i > 0 {
			s.at += apart
			for _, command := range between {
				s.apply("", command)
			}
		}
		answer := s.apply(e.OpID()+id, &queue.SendMessages{
			Queue: sceneQueue, SenderID: "000000000000", Entries: []queue.SendEntry{{
				Body: "tried", GroupID: "c", GroupIDGiven: true, DeduplicationID: "7", DeduplicationIDGiven: true,
			}},
		})
		told = answer.Result.(queue.MessagesSent).Entries[0]
	}
	e.Index, e.LogTime = 0, 0 // an SDK does not say them
	e.Message, e.Sequence = told.MessageID.String(), told.Sequence.String()
}

// takenAsNew lets the last send, a duplicate, be answered as a new message.
func (s *scene) takenAsNew() {
	s.t.Helper()
	r, err := codec.DecodeResponse(s.lines[len(s.lines)-1].Answer)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Result.(queue.MessagesSent).Entries[0].Duplicate = false
	s.answer(r)
}

// TestTriesOfAnSDK: a stock SDK repeats a send by itself. Two of its tries may make
// two messages if the queue forgot the first in between, and else nothing may.
func TestTriesOfAnSDK(t *testing.T) {
	const window = 20_000
	own, same := []string{".1", ".2"}, []string{".1", ".1"}
	cases := []struct {
		name string
		want bool // it took effect twice, and must not have
		tell func(*scene)
	}{
		{"inside the window: a duplicate", false, func(s *scene) { s.tried(true, own, window-10) }},
		{"a window apart", false, func(s *scene) { s.tried(true, own, window) }},
		{"a purge between them", false, func(s *scene) { s.tried(true, own, 10, &queue.PurgeQueue{Queue: sceneQueue}) }},
		{"one try, a window apart", true, func(s *scene) { s.tried(true, same, window) }},
		{"one try, a purge between", true, func(s *scene) { s.tried(true, same, 10, &queue.PurgeQueue{Queue: sceneQueue}) }},
		{"no SDK, a window apart", true, func(s *scene) { s.tried(false, own, window) }},
		{"purged before both", true, func(s *scene) {
			s.apply("", &queue.PurgeQueue{Queue: sceneQueue})
			s.tried(true, own, 10)
			s.takenAsNew()
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := sound(t)
			c.tell(s)
			found := false
			for _, v := range s.judge(nil).Violations {
				found = found || v.Invariant == "I12" && strings.Contains(v.Text, "2 times")
				if !c.want && v.Check != "W7" { // that it is not empty
					t.Error(v)
				}
			}
			if found != c.want {
				t.Errorf("found: %v, want %v", found, c.want)
			}
		})
	}
}

// TestEmptyTryOfAnSDK: the answer of an SDK is that of its last try. An earlier one,
// read late by a node that was stopped, may have taken messages.
func TestEmptyTryOfAnSDK(t *testing.T) {
	for _, c := range []struct {
		name  string
		stock bool
		entry string // the try that the entry is of
		want  bool   // the answer is a lie
	}{
		{"another try took the message", true, ".1", false},
		{"the try that was answered took it", true, ".2", true},
		{"no SDK", false, ".1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sound(t)
			s.send("c", "7", "late")
			e, _ := s.call(history.Event{Action: history.Receive, Detail: history.Detail{Most: 1, Stock: c.stock, Tries: 2}}, nil)
			s.apply(e.OpID()+c.entry, &queue.ReceiveMessages{Queue: sceneQueue, MaxMessages: queue.Some(1)})
			e.Index, e.LogTime = 0, 0
			found := false
			for _, v := range s.judge(nil).Violations {
				found = found || v.Check == "W2" && v.Invariant == "I11"
				if !c.want && v.Check != "W7" { // that it is not empty
					t.Error(v)
				}
			}
			if found != c.want {
				t.Errorf("found: %v, want %v", found, c.want)
			}
		})
	}
}

// TestLateTryOfAnSDK: a try that came after the answer of another may find nothing, as
// that one did. It is not the entry of the answer, and comes after what was done since.
func TestLateTryOfAnSDK(t *testing.T) {
	for _, c := range []struct {
		name, entry string
		want        bool // real time is broken
	}{
		{"another try comes late", ".1", false},
		{"the try that was answered comes late", ".2", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sound(t)
			e, _ := s.call(history.Event{Action: history.Receive, Detail: history.Detail{Most: 1, Stock: true, Tries: 2}}, nil)
			e.Index, e.LogTime = 0, 0
			s.send("c", "7", "sent since then")
			s.receive("", 1)
			s.apply(e.OpID()+c.entry, &queue.ReceiveMessages{Queue: sceneQueue, MaxMessages: queue.Some(1)})
			found := false
			for _, v := range s.judge(nil).Violations {
				found = found || v.Check == "W3" && v.Invariant == "I11"
				if !c.want && v.Check != "W7" { // that it is not empty
					t.Error(v)
				}
			}
			if found != c.want {
				t.Errorf("found: %v, want %v", found, c.want)
			}
		})
	}
}
