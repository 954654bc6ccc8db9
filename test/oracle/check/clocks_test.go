package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// dated sets the log time of the last operation's answer, in milliseconds.
func (s *story) dated(ms int64) { s.events[len(s.events)-1].LogTime = ms }

// clock adds a clock fault between two times in milliseconds.
func (s *story) clock(from, to int64) {
	s.events = append(s.events, history.Event{Kind: history.KindTouch, Node: "n1", Action: history.TouchClock, Call: from * 1000,
		Return: to * 1000, Detail: history.Detail{Count: 600_000}})
}

// touch adds an effect of a fault on a node.
func (s *story) touch(node, what string, from, to int64) {
	s.events = append(s.events, history.Event{Kind: history.KindTouch, Node: node, Action: what, Call: from * 1000, Return: to * 1000})
}

// sendsWithLead adds sends between two times. Their log time is ahead by ms milliseconds, which
// change with every send.
func (s *story) sendsWithLead(from, to, ms, change int64) {
	for at := from; at < to; at += 500 {
		name := fmt.Sprint("at ", at)
		s.send(at, name, name, name, fmt.Sprint(1_000_000+at))
		s.dated(at + 10 + ms)
		ms += change
	}
}

// observed adds an observation about a node.
func (s *story) observed(at int64, action string) {
	s.events = append(s.events, history.Event{Kind: history.KindObserved, Action: action, Node: "n1", Call: at * 1000, Return: at * 1000})
}

func timeout(seconds int64) *int64 {
	us := seconds * 1_000_000
	return &us
}

// TestStoriesOfTime contains histories in which clocks, batches, dead letters and ends of processes
// matter, with the invariants that they break.
func TestStoriesOfTime(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"log time jumped, and a message came back by it", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.dated(5)
			s.clock(50, 5000)
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.dated(105)
			s.receive(200, "", got("A", "a", "10", "h2", 2, 5))
			s.dated(600_105)
		}},
		{"true time passed, and log time did not", "I10", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.dated(105)
			s.receive(9000, "", got("A", "a", "10", "h2", 2, 5))
			s.dated(4000)
		}},
		{"log time ran ahead with a clock, and comes back slowly", "", func(s *story) {
			s.clock(0, 10*second)
			s.sendsWithLead(70*second, 90*second, 8000, -100)
		}},
		{"log time goes on running ahead after a clock was set right", "I16", func(s *story) {
			s.clock(0, 10*second)
			s.sendsWithLead(70*second, 90*second, 8000, 100)
		}},
		{"log time was right again, and runs ahead long after a clock fault", "I16", func(s *story) {
			s.clock(0, 10*second)
			s.sendsWithLead(70*second, 80*second, 0, 0)
			s.sendsWithLead(300*second, 310*second, 3000, 0)
		}},
		{"log time is ahead from an earlier part", "", func(s *story) {
			s.events[0].Rules.Skewed = 1000
			s.sendsWithLead(2*second, 80*second, 8000, -20)
		}},
		{"log time is behind a minute after a clock was set right", "I16", func(s *story) {
			s.clock(0, 10*second)
			s.sendsWithLead(71*second, 75*second, -3000, 0)
		}},
		{"log time is behind within a minute after a clock was set right", "", func(s *story) {
			s.clock(0, 10*second)
			s.sendsWithLead(60*second, 65*second, -3000, 0)
		}},
		{"18 log time follows a clock that is wrong", "I16", func(s *story) {
			s.send(5000, "a", "a", "A", "10")
			s.dated(8000)
		}},
		{"log time lags", "I16", func(s *story) {
			s.send(5000, "a", "a", "A", "10")
			s.dated(1000)
		}},
		{"log time is ahead after a clock was, and goes on", "", func(s *story) {
			s.clock(0, 100)
			for i := range int64(30) {
				s.send(5000+i*500, fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint("M", i), fmt.Sprint(10+i))
				s.dated(605_000 + i*260)
			}
		}},
		{"log time stands still after a clock was ahead", "I16", func(s *story) {
			s.clock(0, 100)
			for i := range int64(30) {
				s.send(5000+i*500, fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint("M", i), fmt.Sprint(10+i))
				s.dated(605_000 + i)
			}
		}},
		{"log time stands still while nobody leads", "", func(s *story) {
			s.clock(0, 100)
			s.send(5000, "a", "a", "A", "10")
			s.dated(25_000)
			s.send(20_000, "b", "b", "B", "11")
			s.dated(25_001)
		}},
		{"a duplicate at the window's last millisecond, a message at its end", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.dated(5)
			s.send(2990, "a", "a", "A", "10")
			s.dated(3004)
			s.send(3000, "a", "a", "B", "11")
			s.dated(3005)
			s.receive(3100, "", got("A", "a", "10", "h1", 1, 5), got("B", "a", "11", "h2", 1, 3005))
		}},
		{"6 a duplicate one millisecond after the window", "I3", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.dated(5)
			s.send(3000, "a", "a", "A", "10")
			s.dated(3005)
			s.receive(3100, "", got("A", "a", "10", "h1", 1, 5))
		}},
		{"a purge forgets what was deduplicated", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: history.Purge})
			s.send(300, "a", "a", "B", "11")
			s.receive(400, "", got("B", "a", "11", "h2", 1, 305))
		}},
		{"a visibility of its own", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.add(100, history.Event{Action: history.Receive, Messages: []history.Message{got("A", "a", "10", "h1", 1, 5)},
				Detail: history.Detail{Timeout: timeout(0), LogTime: 105}})
			s.receive(200, "", got("A", "a", "10", "h2", 2, 5))
			s.dated(205)
		}},
		{"put away for hours", "", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: history.Visibility, Handle: "h1", Message: "A",
				Detail: history.Detail{Timeout: timeout(43200)}})
			s.drained(30 * second)
		}},
		{"put away and brought back, and gone", "I1", func(s *story) {
			s.send(0, "a", "a", "A", "10")
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.add(200, history.Event{Action: history.Visibility, Handle: "h1", Message: "A",
				Detail: history.Detail{Timeout: timeout(43200)}})
			s.add(300, history.Event{Action: history.Visibility, Handle: "h1", Message: "A", Detail: history.Detail{Timeout: timeout(0)}})
			s.drained(30 * second)
		}},
		{"a batch with a duplicate and a refusal", "", func(s *story) {
			s.add(0, history.Event{Action: history.SendBatch, Workload: "batch", Detail: history.Detail{Entries: []history.Entry{
				{Group: "g", Dedup: "a", Body: "a", Message: "A", Sequence: "10"},
				{Group: "g", Dedup: "a", Body: "b", Message: "A", Sequence: "10"},
				{Group: "", Dedup: "c", Body: "c", Error: "MissingParameter"},
			}}})
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.drained(30 * second)
		}},
		{"an entry of a batch that is lost", "I1", func(s *story) {
			s.add(0, history.Event{Action: history.SendBatch, Detail: history.Detail{Entries: []history.Entry{
				{Group: "g", Dedup: "a", Body: "a", Message: "A", Sequence: "10"},
				{Group: "g", Dedup: "b", Body: "b", Message: "B", Sequence: "11"},
			}}})
			s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
			s.remove(200, "h1", "A")
			s.drained(30 * second)
		}},
		{"a replica says that it differs", "I13", func(s *story) { s.observed(0, "exit code 83") }},
		{"a node crashed", "I15", func(s *story) { s.observed(0, "exit code 2") }},
		{"a disk error and nobody touched the disk", "I17", func(s *story) { s.observed(0, "exit code 80") }},
		{"a disk error of a disk that was broken", "", func(s *story) {
			s.touch("n1", history.TouchError, 0, 1000)
			s.observed(0, "exit code 80")
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStory()
			c.tell(s)
			if r := Check(s.events); invariants(r) != c.want {
				t.Errorf("fired %q, want %q: %v", invariants(r), c.want, r.Violations)
			}
		})
	}
}

// TestDeadLetters moves a message after two receives.
func TestDeadLetters(t *testing.T) {
	received := func(count int, delivered bool) []history.Event {
		s := newStory()
		s.events[0].Rules.DeadLetter = map[string]int{"q": 2}
		s.send(0, "a", "a", "A", "10")
		s.receive(100, "", got("A", "a", "10", "h1", 1, 5))
		s.receive(6*second, "", got("A", "a", "10", "h2", 2, 5))
		m := got("A", "a", "3", "h3", count, 12*second)
		m.Dedup = "A"
		if delivered {
			s.receive(12*second, "", m)
			s.events[len(s.events)-1].Queue = history.DeadLetterOf("q")
		}
		s.drained(30 * second)
		return s.events
	}
	for _, c := range []struct {
		name, want string
		events     []history.Event
	}{
		{"moved", "", received(3, true)},
		{"lost on the way", "I1", received(3, false)},
		{"its count begins anew", "I10", received(1, true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := Check(c.events); invariants(r) != c.want {
				t.Errorf("fired %q, want %q: %v", invariants(r), c.want, r.Violations)
			}
		})
	}
}

// failpoint adds a crash of a node at a failpoint, between two times in milliseconds.
func (s *story) failpoint(node string, from, to int64) {
	s.events = append(s.events, history.Event{Kind: history.KindFault, Workload: "failpoint", Action: "crash at answer", Node: node,
		Call: from * 1000, Return: to * 1000})
	s.touch(node, history.TouchFailpoint, from, to)
}

// TestWhatFaultsSee checks that a fault can report that a node broke an invariant, and that a node
// may end at a failpoint only if it was armed.
func TestWhatFaultsSee(t *testing.T) {
	cases := []struct {
		name, want string
		tell       func(*story)
	}{
		{"a crash at a place", "", func(s *story) {
			s.failpoint("n1", 0, 5000)
			s.observed(1000, "exit code 99")
		}},
		{"a crash at a place of another node", "I15", func(s *story) {
			s.failpoint("n2", 0, 5000)
			s.observed(1000, "exit code 99")
		}},
		{"a crash at a place before it was armed", "I15", func(s *story) {
			s.failpoint("n1", 2000, 5000)
			s.observed(1000, "exit code 99")
		}},
		{"a node that leads with the vote of an empty disk", "I1", func(s *story) {
			s.events = append(s.events, history.Event{Kind: history.KindBreach, Action: "I1", Error: "n1 leads"})
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

// TestAScenarioMustDoWhatItIsAbout checks that a scenario without effective faults is inconclusive.
func TestAScenarioMustDoWhatItIsAbout(t *testing.T) {
	s := newStory()
	s.events[0].Rules.Must = []string{"fault crash at answer", "observed crashes at a place"}
	s.failpoint("n1", 0, 5000)
	short := strings.Join(Check(s.events).Short, "\n")
	if strings.Contains(short, "fault crash at answer") || !strings.Contains(short, "observed crashes at a place: never") {
		t.Errorf("not reached: %s", short)
	}
}

func TestSumNeedsEveryPartToCount(t *testing.T) {
	part := Report{Counts: map[string]int{"operations ok": 60_000, "log: entries": 7}, profile: profileSoak}
	total := Sum([]Report{part, part})
	if total.Counts["operations ok"] != 120_000 || total.Counts["log: entries"] != 7 {
		t.Errorf("counts: %v", total.Counts)
	}
	if short := strings.Join(total.Short, "\n"); strings.Contains(short, "operations ok") ||
		!strings.Contains(short, "fault kill leader: 0 of 1") {
		t.Errorf("not reached: %s", short)
	}
}
