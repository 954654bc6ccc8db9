package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// story builds a history by hand. Times are in milliseconds; each call takes 10.
type story struct {
	events []history.Event
	nextID int64
}

const second = 1000

func newStory() *story {
	rules := history.Rules{Window: 3e6, Attempt: 20e6, Visibility: 5e6, Slack: 3e5, Quick: true}
	return &story{events: []history.Event{{Kind: history.KindRun, Detail: history.Detail{Rules: &rules}}}}
}

func (s *story) add(at int64, e history.Event) *history.Event {
	s.nextID++
	e.Kind, e.ID, e.Call, e.Return, e.Queue = history.KindOp, s.nextID, at*1000, (at+10)*1000, "q"
	if e.Result == history.Unknown {
		e.Error = "no answer" // as a Recorder writes it
	}
	if e.Result == "" {
		e.Result = history.OK
	}
	s.events = append(s.events, e)
	return &s.events[len(s.events)-1]
}

func (s *story) send(at int64, body, dedup, id, seq string) {
	s.add(at, history.Event{Action: "send", Body: body, Dedup: dedup, Group: "g", Message: id, Sequence: seq})
}

func (s *story) sent(at int64, result history.Result, body string) {
	s.add(at, history.Event{Action: "send", Body: body, Dedup: body, Group: "g", Result: result})
}

func got(id, body, seq, handle string, count int, sent int64) history.Message {
	return history.Message{ID: id, Body: body, Group: "g", Dedup: body, Sequence: seq, Handle: handle, Count: count, Sent: sent}
}

func (s *story) receive(at int64, attempt string, messages ...history.Message) {
	s.add(at, history.Event{Action: "receive", Attempt: attempt, Messages: messages})
}

func (s *story) lost(at int64, attempt string) {
	s.add(at, history.Event{Action: "receive", Attempt: attempt, Result: history.Unknown})
}

func (s *story) remove(at int64, handle, id string) {
	s.add(at, history.Event{Action: "delete", Handle: handle, Message: id})
}

func (s *story) drained(at int64) {
	s.events = append(s.events, history.Event{Kind: history.KindDrained, Queue: "q", Call: at * 1000, Return: at * 1000})
}

// invariants are those that a report says were broken.
func invariants(r Report) string {
	seen := map[string]bool{}
	var names []string
	for _, v := range r.Violations {
		if !seen[v.Invariant] {
			seen[v.Invariant] = true
			names = append(names, v.Invariant)
		}
	}
	return strings.Join(names, " ")
}

// wantInvariants wants these to be broken and no others, in any order.
func wantInvariants(t *testing.T, want string, r Report) {
	t.Helper()
	fired, wanted := strings.Fields(invariants(r)), strings.Fields(want)
	slices.Sort(fired)
	slices.Sort(wanted)
	if !slices.Equal(fired, wanted) {
		t.Errorf("fired %v, want %v: %v", fired, wanted, r.Violations)
	}
}

func TestSoundHistories(t *testing.T) {
	cases := []struct {
		name string
		tell func(*story)
	}{
		{"empty", func(*story) {}},
		{"sent, received, deleted", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.drained(30 * second)
		}},
		{"a send without an answer that worked", func(s *story) {
			s.sent(0, history.Unknown, "a")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.drained(30 * second)
		}},
		{"a duplicate in the window, a new message after it", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(500, "a", "a", "A", "10")
			s.send(4*second, "a", "a", "B", "11")
			s.receive(5*second, "", got("A", "a", "10", "h1", 1, 5), got("B", "a", "11", "h2", 1, 4005))
			s.remove(5100, "h1", "A")
			s.remove(5200, "h2", "B")
			s.drained(30 * second)
		}},
		{"a delete without an answer that worked", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: "delete", Handle: "h1", Message: "A", Result: history.Unknown})
			s.receive(300, "", got("B", "b", "11", "h2", 1, 25))
			s.remove(400, "h2", "B")
			s.drained(30 * second)
		}},
		{"a send that failed, was repeated and then had no answer", func(s *story) {
			s.sent(0, history.Fail, "a")
			s.sent(50, history.Unknown, "a")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.drained(30 * second)
		}},
		{"redelivery after expiry", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
			s.remove(7*second, "h2", "A")
			s.drained(30 * second)
		}},
		{"a lost answer repeated by attempt id", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.lost(100, "t")
			s.receive(200, "t", got("A", "a", "10", "h1", 1, 5))
			s.receive(300, "t", got("A", "a", "10", "h1", 1, 5))
			s.remove(400, "h1", "A")
			s.drained(30 * second)
		}},
		{"a delivery that nobody saw", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.lost(100, "")
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
			s.remove(7*second, "h2", "A")
			s.drained(30 * second)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			if r := Check(s.events); len(r.Violations) > 0 {
				t.Errorf("violations of a sound history: %v", r.Violations)
			}
		})
	}
}

// TestPlantedBugs are histories as buggy servers would make them, with the
// invariant that must fire for each.
func TestPlantedBugs(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"2 answer before commit: the message is gone", "I1", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.drained(30 * second)
		}},
		{"delivered once, never deleted, gone", "I1", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.drained(30 * second)
		}},
		{"3 and 5 dedup record lost", "I3", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.send(1*second, "a", "a", "B", "11")
			s.receive(1100, "", got("B", "a", "11", "h2", 1, 1005))
			s.remove(1200, "h2", "B")
		}},
		{"6 a duplicate extends the window", "I3", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(2*second, "a", "a", "A", "10")
			s.send(4*second, "a", "a", "A", "10")
		}},
		{"7 the attempt record died with its leader", "I6", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "t", got("A", "a", "10", "h1", 1, 5))
			s.receive(500, "t")
		}},
		{"8 new handles on replay", "I6 I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "t", got("A", "a", "10", "h1", 1, 5))
			s.receive(500, "t", got("A", "a", "10", "h2", 2, 5))
		}},
		{"9 a stale leader serves a receive", "I5", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(200, "", got("B", "b", "11", "h2", 1, 25))
		}},
		{"9 and the same message twice", "I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(200, "", got("A", "a", "10", "h2", 2, 5))
		}},
		{"10 any delete in the group releases its lock", "I5", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.send(40, "c", "c", "C", "12")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5), got("B", "b", "11", "h2", 1, 25))
			s.remove(200, "h1", "A")
			s.receive(300, "", got("C", "c", "12", "h3", 1, 45))
		}},
		{"11 a redelivered message goes to the tail", "I4", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(6*second, "", got("B", "b", "11", "h2", 1, 25))
			s.receive(7*second, "", got("A", "a", "10", "h3", 2, 5))
		}},
		{"order inside an answer", "I4", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "", got("B", "b", "11", "h2", 1, 25), got("A", "a", "10", "h1", 1, 5))
		}},
		{"12 delete by message id", "I7", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
			s.remove(7*second, "h1", "A")
			s.drained(30 * second)
		}},
		{"a handle issued twice", "I7", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(6*second, "", got("A", "a", "10", "h1", 2, 5))
		}},
		{"13 a deleted message is back", "I8", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
		}},
		{"14 the sequence counter went back", "I4 I9", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(100, "b", "b", "B", "11")
			s.send(200, "c", "c", "C", "11")
			s.send(300, "d", "d", "D", "9")
		}},
		{"16 a forwarded send is proposed twice", "I2 I3 I12", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5), got("B", "a", "11", "h2", 1, 6))
		}},
		{"17 leadership lost answered as not done", "I12", func(s *story) {
			s.sent(0, history.Fail, "a")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
		}},
		{"22 a body that nobody sent", "I2", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "x", "10", "h1", 1, 5))
		}},
		{"23 purge forgets what is in flight", "I8", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: "purge"})
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
		}},
		{"25 the answer of a long poll is lost", "I6", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.lost(100, "t")
			s.receive(300, "t")
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
		}},
		{"counts that grow by themselves", "I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 3, 5))
		}},
		{"replicas that differ", "I13", func(s *story) {
			s.events = append(s.events, history.Event{Kind: history.KindAgree, Result: history.Fail, Error: "hashes"})
		}},
		{"no service after healing", "I14", func(s *story) {
			s.events = append(s.events, history.Event{Kind: history.KindLive, Result: history.Fail, Return: 16e6})
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			r := Check(s.events)
			wantInvariants(t, c.want, r)
			if r.Verdict() != "fail" {
				t.Errorf("the verdict is %s", r.Verdict())
			}
		})
	}
}

func TestARunThatDidNotBiteIsInconclusive(t *testing.T) {
	s := newStory()
	s.send(0, "a", "a", "A", "10")
	if got := Check(s.events).Verdict(); got != "inconclusive" {
		t.Errorf("a history without a fault is %q", got)
	}
}

func TestHistoryRoundTrip(t *testing.T) {
	s := newStory()
	s.send(0, "a", "a", "A", "10")
	s.receive(100, "t", got("A", "a", "10", "h1", 1, 5))
	var file bytes.Buffer
	for _, e := range s.events {
		if err := json.NewEncoder(&file).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	back, err := history.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.events, back); diff != "" {
		t.Error(diff)
	}
}
