package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// story is a hand-made history. Times are in milliseconds, and each call takes 10.
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

// invariants returns the invariants that a report says were broken.
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

// wantInvariants checks that exactly these invariants are broken.
func wantInvariants(t *testing.T, want string, r Report) {
	t.Helper()
	fired, wanted := strings.Fields(invariants(r)), strings.Fields(want)
	slices.Sort(fired)
	slices.Sort(wanted)
	if !slices.Equal(fired, wanted) {
		t.Errorf("fired %v, want %v: %v", fired, wanted, r.Violations)
	}
}

// count adds a read of the counters through a node, with the log time of its answer.
func (s *story) count(at int64, node, visible, hidden string) {
	e := s.add(at, history.Event{Action: history.Counts, Node: node})
	e.Attributes = map[string]string{history.Visible: visible, history.NotVisible: hidden, history.Delayed: "0"}
	e.LogTime = at + 5
}

// uses adds a measurement of a process after a repair.
func (s *story) uses(at int64, descriptors, goroutines int) {
	s.events = append(s.events, history.Event{
		Kind: history.KindUsage, Action: history.Healed, Node: "n1", Call: at * 1000, Return: at * 1000,
		Detail: history.Detail{Usage: &history.Usage{Pid: 7, Memory: 1 << 26, Descriptors: descriptors, Goroutines: goroutines}},
	})
}

// TestUnplanted contains histories for the invariants that no planted bug of the selftest breaks,
// and correct ones that resemble them.
func TestUnplanted(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"calls without an answer that worked", "", func(s *story) {
			s.sent(0, history.Fail, "a")
			s.sent(50, history.Unknown, "a")
			s.lost(100, "t")
			s.receive(200, "t", got("A", "a", "10", "h1", 1, 5))
			s.receive(300, "t", got("A", "a", "10", "h1", 1, 5))
			s.add(400, history.Event{Action: "delete", Handle: "h1", Message: "A", Result: history.Unknown})
			s.drained(30 * second)
		}},
		{"a delivery whose answer was lost", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.lost(100, "")
			s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
			s.remove(7*second, "h2", "A")
			s.drained(30 * second)
		}},
		{"counts that grow by themselves", "I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 3, 5))
		}},
		{"a handle issued twice", "I7", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.receive(6*second, "", got("A", "a", "10", "h1", 2, 5))
		}},
		{"counters, one message in flight", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "t", got("A", "a", "10", "h1", 1, 5))
			s.count(500, "n1", "1", "1")
		}},
		{"a deleted message is counted", "I15", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.send(20, "b", "b", "B", "11")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.count(500, "n1", "1", "1")
		}},
		{"two nodes count differently", "I13", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: history.Visibility, Handle: "h1", Detail: history.Detail{Timeout: new(int64(3600e6))}})
			s.drained(30 * second)
			s.count(31*second, "n1", "0", "1")
			s.count(31*second, "n2", "1", "0")
		}},
		{"a minority that answers", "I14", func(s *story) {
			s.add(9*second, history.Event{Action: history.Send, Body: "m", Dedup: "m", Message: "M", Sequence: "10",
				Workload: history.Minority, Node: "n1", Detail: history.Detail{Since: 1e6}})
		}},
		{"a node that crashed", "I15", func(s *story) {
			s.events = append(s.events, history.Event{Kind: history.KindObserved, Action: "exit code 2", Node: "n1"})
		}},
		{"descriptors up and down", "", func(s *story) {
			for i, n := range []int{60, 200, 70, 190, 80, 210} {
				s.uses(int64(i)*second, n, 10*n)
			}
		}},
		{"goroutines that never end", "I15", func(s *story) {
			for i := range 6 {
				s.uses(int64(i)*second, 60, 300+200*i)
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

func TestARunThatDetectsNothingIsInconclusive(t *testing.T) {
	s := newStory()
	s.send(0, "a", "a", "A", "10")
	if got := Check(s.events).Verdict(); got != "inconclusive" {
		t.Errorf("a history without a fault is %q", got)
	}
}

// TestLateReceives contains repeated receives that found nothing, although the first call received
// the messages. This is a violation unless the log shows that the first call was executed later.
func TestLateReceives(t *testing.T) {
	tell := func(answers ...int64) *story { // the answers' log times
		s := newStory()
		s.send(0, "a", "a", "A", "10")
		s.lost(100, "t")
		for i, logTime := range answers {
			s.add(int64(200+100*i), history.Event{Action: history.Receive, Attempt: "t", Detail: history.Detail{LogTime: logTime}})
		}
		s.receive(10*second, "", got("A", "a", "10", "h1", 2, 5))
		s.remove(11*second, "h1", "A")
		s.drained(60 * second)
		return s
	}
	const lost = 2 // the number of the call without an answer
	for _, c := range []struct {
		name, want string
		story      *story
		effects    map[int64]int64
	}{
		{"the log is not known", "I6", tell(205), nil},
		{"the call was not in the log", "I6", tell(205), map[int64]int64{}},
		{"the call came before its repetition", "I6", tell(205), map[int64]int64{lost: 105}},
		{"the call came between two repetitions", "I6", tell(205, 305), map[int64]int64{lost: 250}},
		{"the answer says no log time", "I6", tell(0), map[int64]int64{lost: 250}},
		{"the call came after its repetition", "", tell(205), map[int64]int64{lost: 250}},
	} {
		t.Run(c.name, func(t *testing.T) { wantInvariants(t, c.want, CheckWithEffects(c.story.events, c.effects)) })
	}
}
