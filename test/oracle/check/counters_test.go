package check

import (
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// count is a look at the counters through a node, with the log time of its answer.
func (s *story) count(at int64, node, visible, hidden string) {
	e := s.add(at, history.Event{Action: history.Counts, Node: node})
	e.Attributes = map[string]string{history.Visible: visible, history.NotVisible: hidden, history.Delayed: "0"}
	e.LogTime = at + 5
}

// TestCounters are histories whose counters are right, and others in which they
// are not.
func TestCounters(t *testing.T) {
	two := func(s *story) {
		s.send(0, "a", "a", "A", "10")
		s.send(20, "b", "b", "B", "11")
	}
	empty := func(s *story) {
		s.receive(1000, "", got("A", "a", "10", "h1", 1, 5), got("B", "b", "11", "h2", 1, 25))
		s.remove(1100, "h1", "A")
		s.remove(1200, "h2", "B")
		s.drained(30 * second)
	}
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"before and after the drain", "", func(s *story) {
			two(s)
			s.count(500, "n1", "2", "0")
			empty(s)
			s.count(31*second, "n1", "0", "0")
			s.count(31*second, "n2", "0", "0")
		}},
		{"one is in flight", "", func(s *story) {
			two(s)
			s.receive(100, "t", got("A", "a", "10", "h1", 1, 5))
			s.count(500, "n1", "1", "1")
		}},
		{"a delete has no answer", "", func(s *story) {
			two(s)
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: history.Delete, Handle: "h1", Message: "A", Result: history.Unknown})
			s.count(500, "n1", "1", "0")
			s.count(600, "n1", "1", "1")
		}},
		{"sent after the look", "", func(s *story) {
			s.count(0, "n1", "0", "0")
			s.send(100, "a", "a", "A", "10")
			s.receive(200, "", got("A", "a", "10", "h1", 1, 105))
		}},
		{"put away for long", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: history.Visibility, Handle: "h1", Message: "A", Detail: history.Detail{Timeout: timeout(3600)}})
			s.drained(30 * second)
			s.count(31*second, "n1", "0", "1")
		}},

		{"one is missing before the drain", "I15", func(s *story) {
			two(s)
			s.count(500, "n1", "1", "0")
			empty(s)
		}},
		{"one too many before the drain", "I15", func(s *story) {
			two(s)
			s.count(500, "n1", "2", "1")
			empty(s)
		}},
		{"a deleted one is counted", "I15", func(s *story) {
			two(s)
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.count(500, "n1", "1", "1")
		}},
		{"something is left after the drain", "I15", func(s *story) {
			two(s)
			empty(s)
			s.count(31*second, "n1", "0", "1")
		}},
		{"two nodes count differently", "I13", func(s *story) {
			two(s)
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5), got("B", "b", "11", "h2", 1, 25))
			for _, h := range []string{"h1", "h2"} {
				s.add(200, history.Event{Action: history.Visibility, Handle: h, Detail: history.Detail{Timeout: timeout(3600)}})
			}
			s.drained(30 * second)
			s.count(31*second, "n1", "0", "2")
			s.count(31*second, "n2", "1", "1")
		}},
		{"no numbers", "I15", func(s *story) { s.count(0, "n1", "", "0") }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}
