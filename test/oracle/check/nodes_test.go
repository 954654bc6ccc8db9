package check

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// TestEndsHaveTheirReason checks that the end of a process is excused only by a fault on this node
// that explains the exit code and lasted until shortly before.
func TestEndsHaveTheirReason(t *testing.T) {
	for _, c := range []struct {
		code, what, node string
		from, to, at     int64
		want             string
	}{
		{"80", history.TouchError, "n1", 0, 1000, 500, ""},
		{"80", history.TouchGone, "n1", 0, 1000, 9000, ""},
		{"80", history.TouchError, "n2", 0, 1000, 500, "I17"},
		{"80", history.TouchError, "n1", 0, 1000, 20 * second, "I17"},
		{"80", history.TouchError, "n1", 5000, 6000, 500, "I17"},
		{"80", history.TouchPause, "n1", 0, 1000, 500, "I17"},
		{"81", history.TouchHang, "n1", 0, 9000, 8000, ""},
		{"81", history.TouchPause, "n1", 0, 9000, 8000, ""},
		{"81", history.TouchMachine, "", 0, 9000, 8000, ""},
		{"81", history.TouchClock, "n1", 0, 9000, 8000, "I17"},
		{"81", history.TouchHang, "n2", 0, 9000, 8000, "I17"},
		{"82", history.TouchFlip, "n1", 0, 9000, 8000, ""},
		{"82", history.TouchPowerCut, "n1", 0, 9000, 8000, "I17"},
		{"83", history.TouchFlip, "n1", 0, 9000, 8000, "I13"},
		{"84", history.TouchError, "n1", 0, 9000, 8000, "I17"},
		{"86", history.TouchNetwork, "n1", 0, 9000, 8000, ""},
		{"86", history.TouchHang, "n1", 0, 9000, 8000, "I14"},
		{"87", history.TouchRemove, "n1", 0, 9000, 8000, ""},
		{"87", history.TouchRemove, "n2", 0, 9000, 8000, "I15"},
		{"2", history.TouchError, "n1", 0, 9000, 8000, "I15"},
		{history.CrashCode, history.TouchFailpoint, "n1", 0, 9000, 8000, ""},
		{history.CrashCode, history.TouchFailpoint, "n2", 0, 9000, 8000, "I15"},
	} {
		t.Run(fmt.Sprintf("%s after %s of %s", c.code, c.what, c.node), func(t *testing.T) {
			s := newStory()
			s.touch(c.node, c.what, c.from, c.to)
			s.observed(c.at, "exit code "+c.code)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

// TestAFaultThatDidNotRunExcusesNothing checks a fault that is in the history but was not injected.
func TestAFaultThatDidNotRunExcusesNothing(t *testing.T) {
	s := newStory()
	s.events = append(s.events, history.Event{Kind: history.KindFault, Workload: "disk", Action: "disk of one gone", Node: "n1",
		Return: 5e6, Error: "the node is in the hands of another fault"})
	s.observed(1000, "exit code 80")
	wantInvariants(t, "I17", Check(s.events))
}

// TestService checks I14, except for the leader.
func TestService(t *testing.T) {
	minority := func(s *story, at, took int64, result history.Result) {
		s.add(at, history.Event{Action: history.Send, Body: fmt.Sprint(at), Result: result, Workload: history.Minority, Node: "n1",
			Detail: history.Detail{Since: 1e6}})
		s.events[len(s.events)-1].Return = (at + took) * 1000
	}
	steady := func(s *story, changes ...int64) {
		for _, at := range changes {
			s.observed(at, "leader change")
		}
		s.events = append(s.events, history.Event{Kind: history.KindSteady, Call: 10e6, Return: 80e6})
	}
	for _, c := range []struct {
		name, want string
		tell       func(*story)
	}{
		{"a minority refuses in time", "", func(s *story) { minority(s, 2000, 1100, history.Unknown) }},
		{"a minority hangs a client", "I14", func(s *story) { minority(s, 2000, 5000, history.Unknown) }},
		{"a minority hangs a client while the machine stands still", "", func(s *story) {
			minority(s, 2000, 5000, history.Unknown)
			s.touch("", history.TouchMachine, 3000, 6000)
		}},
		{"a leader that was just cut off", "", func(s *story) { minority(s, 2000, 10, history.OK) }},
		{"a minority answers", "I14", func(s *story) { minority(s, 9000, 10, history.OK) }},
		{"leadership moves once", "", func(s *story) { steady(s, 20*second, 90*second) }},
		{"leadership moves twice", "I14", func(s *story) { steady(s, 20*second, 30*second) }},
		{"no service", "I14", func(s *story) {
			s.events = append(s.events, history.Event{Kind: history.KindLive, Result: history.Fail, Return: 16e6})
		}},
		{"an error of a disk that a node ignores", "I17", func(s *story) {
			s.observed(1000, history.ErrorMet)
		}},
		{"an error of a disk that ends its node", "", func(s *story) {
			s.touch("n1", history.TouchError, 0, 2000)
			s.observed(1000, history.ErrorMet)
			s.observed(1200, "exit code 80")
		}},
		{"one state at one index", "", func(s *story) {
			s.looked("n1", 7, "a")
			s.looked("n2", 7, "a")
			s.looked("n1", 8, "b")
		}},
		{"two states of two nodes at one index", "I13", func(s *story) {
			s.looked("n1", 7, "a")
			s.looked("n2", 7, "b")
		}},
		{"two states of one node at one index", "I17", func(s *story) {
			s.looked("n1", 7, "a")
			s.looked("n1", 7, "b")
		}},
		{"a digest that does not fit", "I2", func(s *story) {
			s.add(0, history.Event{Action: history.Receive, Detail: history.Detail{Digests: 1, BadDigest: "of a body"}})
		}},
		{"attributes that were not sent", "I2", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			m := got("A", "a", "10", "h1", 1, 5)
			m.Extra = "x"
			s.receive(100, "", m)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			s.events[0].Rules.Timeout = 1e6
			c.tell(s)
			wantInvariants(t, c.want, Check(s.events))
		})
	}
}

// looked adds a status of a node.
func (s *story) looked(node string, applied uint64, hash string) {
	s.events = append(s.events, history.Event{Kind: history.KindStatus, Node: node,
		Detail: history.Detail{Status: &history.Status{Role: "follower", Applied: applied, Hash: hash}}})
}

// TestAQueueThatWasNotDrainedIsNotJudged checks that losses are not judged without a drain, in a
// part of a long run and in the whole.
func TestAQueueThatWasNotDrainedIsNotJudged(t *testing.T) {
	s := newStory()
	s.events[0].Rules.Profile, s.events[0].Rules.Quick, s.events[0].Rules.Queues = profileSoak, false, []string{"q", "r"}
	s.drained(1000)
	part := Check(s.events)
	if len(part.Short) != 1 || part.Verdict() != "inconclusive" {
		t.Errorf("of the part: %v", part.Short)
	}
	if total := Sum([]Report{part, part}); len(total.Short) < 2 || total.Short[0] != part.Short[0] {
		t.Errorf("of the whole: %v", total.Short)
	}
}
