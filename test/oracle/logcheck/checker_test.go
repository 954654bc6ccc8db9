package logcheck

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// sound returns a correct scene with everything that a run has: two groups, a duplicate, a repeated
// receive, deletes, and an empty queue.
func sound(t *testing.T) *scene {
	s := newScene(t)
	s.send("a", "1", "first")
	s.send("a", "2", "second")
	s.send("b", "3", "third")
	s.send("a", "1", "first again")
	first := s.receive("attempt", 10)
	s.receive("attempt", 10)
	for _, m := range first.Messages {
		s.remove(m.Handle)
	}
	s.look()
	s.drained()
	return s
}

// counters adds a read of counters with this answer.
func (s *scene) counters(visible, hidden string) {
	s.t.Helper()
	s.call(history.Event{Action: history.Counts, Detail: history.Detail{Attributes: map[string]string{
		history.Visible: visible, history.NotVisible: hidden, history.Delayed: "0",
	}}}, nil)
}

// TestCounters checks the counts of a queue. A message in flight becomes visible only with an entry
// after the end of its timeout.
func TestCounters(t *testing.T) {
	s := sound(t)
	s.send("c", "7", "counted")
	s.send("d", "8", "received")
	s.counters("2", "0")
	s.receive("", 1)
	s.counters("1", "1")
	s.at += 6000
	s.send("d", "9", "after it came back")
	s.counters("3", "0")
	s.counters("2", "1") // no later entry has made it visible
	r := s.judge(nil)
	for _, v := range r.Violations {
		if v.Check != "W7" { // W7 reports that the queue is not empty
			t.Error(v)
		}
	}
	if r.Counts["counters of queues compared"] != 4 {
		t.Errorf("counts: %v", r.Counts)
	}
}

func TestSoundRun(t *testing.T) {
	r := sound(t).judge(nil)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if len(r.Gaps) > 0 {
		t.Error(r.Gaps)
	}
	for what, want := range map[string]int{
		"entries": 11, "entries compared": 22, "commands": 11, "operations": 10, "entries of operations": 9,
		"answers found in the log": 10, "reads": 1, "queues drained": 1,
	} {
		if r.Counts[what] != want {
			t.Errorf("%s: %d, want %d", what, r.Counts[what], want)
		}
	}
}

// TestNodesThatCrash checks that a killed node may leave an incomplete line, apply entries again
// after its start, and skip entries that a snapshot contains.
func TestNodesThatCrash(t *testing.T) {
	s := sound(t)
	lines := s.copied()
	restart := slices.Concat(lines[:6], lines[2:])
	snapshot := &line{Index: 8, Kind: kindRestore, Hash: lines[7].Hash}
	skips := slices.Concat(lines[:2], []*line{snapshot}, lines[8:])
	r := s.judge(map[string][]*line{"n2": restart, "n3": skips})
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Counts["snapshots compared"] != 1 {
		t.Errorf("counts: %v", r.Counts)
	}
}

// TestPlanted changes one thing in a correct run, which the check for it must find. The selftest of
// test/faults plants the other bugs in the product.
func TestPlanted(t *testing.T) {
	cases := []struct {
		name      string
		check     string
		invariant string
		text      string
		plant     func(s *scene) map[string][]*line
	}{
		{"another term", "W1", "I13", "terms 1 and 2", func(s *scene) map[string][]*line {
			lines := s.copied()
			lines[4].Term = 2
			return map[string][]*line{"n2": lines}
		}},
		{"another answer of one node", "W1", "I13", "(I13b)", func(s *scene) map[string][]*line {
			lines := s.copied()
			lines[3].Answer = lines[2].Answer
			lines[3].seal()
			return map[string][]*line{"n3": lines}
		}},
		{"another state of one node", "W1", "I13", "state hashes", func(s *scene) map[string][]*line {
			lines := s.copied()
			lines[10].Hash = lines[9].Hash
			return map[string][]*line{"n3": lines}
		}},
		{"another command of one node", "W1", "I13", "(I13a)", func(s *scene) map[string][]*line {
			lines := s.copied()
			lines[3].Command = lines[2].Command
			lines[3].seal()
			return map[string][]*line{"n3": lines}
		}},
		{"damage in a tap", "W1", "I13", "checksum", func(s *scene) map[string][]*line {
			lines := s.copied()
			lines[3].CRC++
			return map[string][]*line{"n3": lines}
		}},
		{"one node lacks an entry", "W1", "I13", "without 1 entries", func(s *scene) map[string][]*line {
			lines := s.copied()
			return map[string][]*line{"n3": slices.Delete(lines, 5, 6)}
		}},
		{"all nodes lack an entry", "W1", "I13", "a state machine that applies the log alone", func(s *scene) map[string][]*line {
			s.lines = slices.Delete(s.lines, 4, 5)
			return nil
		}},
		{"all nodes lack the entry of an acknowledged send", "W2", "I12", "no entry does it", func(s *scene) map[string][]*line {
			s.lines = slices.Delete(s.lines, 4, 5)
			return nil
		}},
		{"a snapshot of another state", "W1", "I13", "restored a snapshot", func(s *scene) map[string][]*line {
			lines := s.copied()
			snapshot := &line{Index: 8, Kind: kindRestore, Hash: lines[6].Hash}
			return map[string][]*line{"n3": slices.Concat(lines[:2], []*line{snapshot}, lines[8:])}
		}},
		{"all nodes answer against the rules", "W2", "I3", "duplicate", func(s *scene) map[string][]*line {
			// The state is unchanged; only the answer belongs to another command.
			s.lines[5].Answer = s.lines[4].Answer
			s.lines[5].seal()
			return nil
		}},
		{"a count that leaps", "W2", "I10", "receive count", func(s *scene) map[string][]*line {
			s.send("c", "7", "counted")
			e := s.receive("", 1)
			s.tell(e, func(m *queue.ReceivedMessage) { m.ReceiveCount = 2 })
			return nil
		}},
		{"a client is told of a refusal that was none", "W2", "I12", "the client was told", func(s *scene) map[string][]*line {
			s.events[6].Error = "ReceiptHandleIsInvalid"
			return nil
		}},
		{"an entry that the client did not ask for", "W2", "I2", "not what the client asked for", func(s *scene) map[string][]*line {
			s.events[1].Body = "another"
			return nil
		}},
		{"an empty answer that is not true", "W2", "I11", "has nothing, but it has", func(s *scene) map[string][]*line {
			s.events[9].Index, s.events[9].LogTime = 5, s.lines[4].AtMs
			s.events[9].Call, s.events[9].Return = 3500, 3600
			return nil
		}},
		{"counters that lack a message", "W2", "I15", "the log gives {Visible:2", func(s *scene) map[string][]*line {
			s.send("c", "7", "counted")
			s.send("c", "8", "counted as well")
			s.counters("1", "0")
			return nil
		}},
		{"counters to which what is in flight is visible", "W2", "I15", "the log gives {Visible:0", func(s *scene) map[string][]*line {
			s.send("c", "7", "counted")
			s.receive("", 1)
			s.counters("1", "0")
			return nil
		}},
		{"an entry of no call", "W2", "I12", "which no call has", func(s *scene) map[string][]*line {
			s.events = slices.Delete(s.events, 1, 2)
			return nil
		}},
		{"an unknown outcome that took effect twice", "W5", "I12", "2 times", func(s *scene) map[string][]*line {
			twice(s)
			s.events[0].Result = history.Unknown
			return nil
		}},
		{"an answered call that took effect twice", "W2", "I12", "2 times", func(s *scene) map[string][]*line {
			twice(s)
			return nil
		}},
		{"a drained queue that is not empty", "W7", "I15", "1 messages must be left", func(s *scene) map[string][]*line {
			s.events = s.events[:9]
			s.send("a", "9", "left")
			s.drained()
			return nil
		}},
		{"two leaders in a term", "W", "I13", "(I13c)", func(s *scene) map[string][]*line {
			s.status("n1", "leader", 3)
			s.status("n2", "leader", 3)
			return nil
		}},
		{"a term that falls", "W", "I13", "(I13f)", func(s *scene) map[string][]*line {
			s.status("n1", "follower", 3)
			s.status("n1", "follower", 2)
			return nil
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := sound(t)
			r := s.judge(c.plant(s))
			for _, v := range r.Violations {
				if v.Check == c.check && v.Invariant == c.invariant && strings.Contains(v.Text, c.text) {
					return
				}
			}
			t.Errorf("%s (%s) did not fire; what did: %v", c.check, c.invariant, r.Violations)
		})
	}
}

// twice makes a node propose the first send again as another message.
func twice(s *scene) {
	s.apply(s.events[0].OpID(), &queue.SendMessages{
		Queue: sceneQueue, SenderID: "000000000000", Entries: []queue.SendEntry{{
			Body: "first", GroupID: "a", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true,
		}},
	})
	last := s.lines[len(s.lines)-1]
	last.Answer = s.lines[3].Answer
	last.seal()
}

func (s *scene) status(node, role string, term uint64) {
	s.events = append(s.events, &history.Event{
		Kind: history.KindStatus, Node: node, Detail: history.Detail{Status: &history.Status{Role: role, Term: term}},
	})
}

// TestUnknownOutcomes checks that an operation of unknown outcome may have one entry or none, and a
// failed one may have an entry without effect.
func TestUnknownOutcomes(t *testing.T) {
	s := sound(t)
	s.events[1].Result, s.events[1].Message, s.events[1].Sequence, s.events[1].Index = history.Unknown, "", "", 0
	lost := history.Event{Kind: history.KindOp, ID: 90, Action: history.Send, Queue: sceneQueue, Call: 1, Return: 2,
		Result: history.Unknown}
	s.events = append(s.events, &lost)
	s.events[3].Result, s.events[3].Error = history.Fail, "ServiceUnavailable" // the duplicate
	r := s.judge(nil)
	for _, v := range r.Violations {
		t.Error(v)
	}
	if r.Counts["unknown operations with 1 effects"] != 1 || r.Counts["unknown operations with 0 effects"] != 1 {
		t.Errorf("counts: %v", r.Counts)
	}
}

var runDir = flag.String("run-dir", "", "folder of a stored run to judge again")

// TestStored judges a stored run.
func TestStored(t *testing.T) {
	if *runDir == "" {
		return
	}
	r, err := Check(*runDir)
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		t.Logf("%8d %s", r.Counts[what], what)
	}
	for _, v := range r.Violations {
		t.Error(v)
	}
	for _, g := range r.Gaps {
		t.Logf("not checked: %s", g)
	}
	if err != nil {
		t.Fatal(err)
	}
}
