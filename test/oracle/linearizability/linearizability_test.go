package linearizability

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// TestRules gives the model histories that are right and, for each rule, ones
// that break it.
func TestRules(t *testing.T) {
	cases := []struct {
		name  string
		legal bool
		play  func(s *scene)
	}{
		{"send, receive, delete", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.remove(1, 1)
			s.wait = 20
			s.receive("", 1)
		}},
		{"a message that nobody sent", false, func(s *scene) { s.receive("", 1, got{1, 1, "a"}) }},
		{"a message in another group", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "b"})
		}},
		{"nothing, while there is something", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1)
		}},
		{"too few", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("b", "k2", 2)
			s.receive("", 2, got{1, 1, "a"})
		}},
		{"numbers that fall", false, func(s *scene) {
			s.send("a", "k2", 2)
			s.send("a", "k1", 1)
		}},
		{"a duplicate in its window", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("a", "k1", 1)
			s.receive("", 2, got{1, 1, "a"})
		}},
		{"no duplicate after the window", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.wait = 20
			s.send("a", "k1", 2)
			s.receive("", 2, got{1, 1, "a"}, got{2, 1, "a"})
		}},
		{"a second copy in the window (I3)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("a", "k1", 2)
		}},
		{"a duplicate after the window (I3)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.wait = 20
			s.send("a", "k1", 1)
		}},
		{"a duplicate extends no window (I3)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.wait = 10
			s.send("a", "k1", 1)
			s.wait = 10
			s.send("a", "k1", 1)
		}},
		{"a second copy after the delete (I3)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.remove(1, 1)
			s.send("a", "k1", 2)
		}},
		{"groups beside each other", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("b", "k2", 2)
			s.send("a", "k3", 3)
			s.receive("", 1, got{2, 1, "b"})
			s.receive("", 10, got{1, 1, "a"}, got{3, 1, "a"})
		}},
		{"overtaken in its group (I5)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("a", "k2", 2)
			s.receive("", 1, got{1, 1, "a"})
			s.receive("", 1, got{2, 1, "a"})
		}},
		{"out of order in one answer (I4)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("a", "k2", 2)
			s.receive("", 2, got{2, 1, "a"}, got{1, 1, "a"})
		}},
		{"back at its place after its visibility (I4)", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("a", "k2", 2)
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"back at the tail (I4)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("a", "k2", 2)
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			s.receive("", 1, got{2, 1, "a"})
		}},
		{"given twice within its visibility (I10)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"still hidden after its visibility (I10)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			s.receive("", 1)
		}},
		{"a count that leaps (I10)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"a change to nothing", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.change(1, 1, 0)
			s.receive("", 1, got{1, 2, "a"})
			refuse(s.change(1, 1, 5))
		}},
		{"a change that was not done", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.change(1, 1, 0)
			s.receive("", 1)
		}},
		{"a delete with an expired handle", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			refuse(s.remove(1, 1))
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"a delete with an expired handle that works (I7)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			s.remove(1, 1)
		}},
		{"a delete with a stale handle that works (I7)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			s.receive("", 1, got{1, 2, "a"})
			s.remove(1, 1)
		}},
		{"a delete refused for no reason (I7)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			refuse(s.remove(1, 1))
		}},
		{"a handle that nobody was given deletes (I7)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.remove(1, 1)
		}},
		{"one handle for two deliveries (I7)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("b", "k2", 2)
			s.receive("", 1, got{1, 1, "a"})
			s.receive("", 1, got{2, 1, "b"}).Messages[0].Handle = "h1.1"
		}},
		{"back after its delete (I8)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.remove(1, 1)
			s.wait = 10
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"a purge", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.add(history.Event{Action: history.Purge})
			s.receive("", 1)
			s.send("a", "k1", 2)
		}},
		{"back after a purge (I8)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.add(history.Event{Action: history.Purge})
			s.receive("", 1, got{1, 1, "a"})
		}},
		{"a repeated receive (I6)", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("x", 1, got{1, 1, "a"})
			s.wait = 5
			s.receive("x", 1, got{1, 1, "a"})
			s.wait = 5
			s.receive("y", 1) // it is hidden anew
		}},
		{"a repeated receive gives nothing (I6)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("x", 1, got{1, 1, "a"})
			s.receive("x", 1)
		}},
		{"a repeated receive gives others (I6)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.send("b", "k2", 2)
			s.receive("x", 1, got{1, 1, "a"})
			s.receive("x", 1, got{2, 1, "b"})
		}},
		{"a repeated receive gives new handles (I6)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("x", 1, got{1, 1, "a"})
			s.receive("x", 1, got{1, 1, "a"}).Messages[0].Handle = "another"
		}},
		{"a repeated receive after the delete is refused (I6)", true, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("x", 1, got{1, 1, "a"})
			s.remove(1, 1)
			refuse(s.receive("x", 1))
		}},
		{"a repeated receive is refused for no reason (I6)", false, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("x", 1, got{1, 1, "a"})
			refuse(s.receive("x", 1))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &scene{}
			c.play(s)
			r := s.check(t, Options{})
			if legal := len(r.Violations) == 0; legal != c.legal || len(r.Unknown) > 0 || r.Objects != 1 {
				t.Errorf("legal: %v, want %v: %+v", legal, c.legal, r)
			}
		})
	}
}

// TestUnknownOutcomes: what is unknown may have happened once or not at all, with
// and without the help of the log.
func TestUnknownOutcomes(t *testing.T) {
	cases := []struct {
		name    string
		legal   bool
		effects map[int64]int64 // of the lost call; nil: the log is not asked
		play    func(s *scene)
	}{
		{"a lost send that was not done", true, map[int64]int64{}, func(s *scene) {
			lose(s.send("a", "k1", 1))
			s.receive("", 1)
		}},
		{"a lost send that was done", true, map[int64]int64{1: 1000}, func(s *scene) {
			lose(s.send("a", "k1", 1))
			s.receive("", 1, got{1, 1, "a"})
		}},
		{"a lost send that was done and is repeated", true, map[int64]int64{1: 1000}, func(s *scene) {
			lose(s.send("a", "k1", 1))
			s.send("a", "k1", 1)
			s.receive("", 2, got{1, 1, "a"})
		}},
		{"a lost send is the original of what follows (I3)", false, map[int64]int64{1: 1000}, func(s *scene) {
			lose(s.send("a", "k1", 1))
			s.receive("", 1, got{1, 1, "a"})
			s.send("a", "k1", 2)
		}},
		{"a lost send seen only as the original of another", true, map[int64]int64{1: 1000}, func(s *scene) {
			lose(s.send("a", "k1", 1))
			s.send("b", "k2", 2)
			again := s.send("a", "k1", 3)
			again.Message, again.Sequence = "m1", "1001"
		}},
		{"a lost send that came and went", false, map[int64]int64{}, func(s *scene) {
			lose(s.send("a", "k1", 1))
			s.receive("", 1, got{1, 1, "a"})
			s.wait = 10
			s.receive("", 1)
		}},
		{"a lost receive that was not done", true, map[int64]int64{}, func(s *scene) {
			s.send("a", "k1", 1)
			lose(s.receive("", 1))
			s.receive("", 1, got{1, 1, "a"})
		}},
		{"a lost receive that hides", true, map[int64]int64{2: 2000}, func(s *scene) {
			s.send("a", "k1", 1)
			lose(s.receive("", 1))
			s.receive("", 1)
			s.wait = 10
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"a lost receive hides for its time only (I10)", false, map[int64]int64{2: 2000}, func(s *scene) {
			s.send("a", "k1", 1)
			lose(s.receive("", 1))
			s.receive("", 1)
			s.wait = 10
			s.receive("", 1)
		}},
		{"a lost receive that is repeated (I6)", true, map[int64]int64{2: 2000}, func(s *scene) {
			s.send("a", "k1", 1)
			lose(s.receive("x", 1))
			s.receive("x", 1, got{1, 1, "a"})
		}},
		{"a lost receive hides, and its repetition gives nothing (I6)", false, map[int64]int64{2: 2000}, func(s *scene) {
			s.send("a", "k1", 1)
			lose(s.receive("x", 1))
			s.receive("x", 1)
			s.wait = 10
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"a lost delete that was done", true, map[int64]int64{3: 3000}, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			lose(s.remove(1, 1))
			s.wait = 20
			s.receive("", 1)
		}},
		{"a lost delete that was not done", true, map[int64]int64{}, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			lose(s.remove(1, 1))
			s.wait = 20
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"back after a lost delete was seen (I8)", false, map[int64]int64{3: 3000}, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			lose(s.remove(1, 1))
			s.wait = 20
			s.receive("", 1)
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"a lost change", true, map[int64]int64{3: 3000}, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			lose(s.change(1, 1, 0))
			s.receive("", 1, got{1, 2, "a"})
		}},
		{"the log says that it was not done, the answers that it was", false, nil, func(s *scene) {
			s.send("a", "k1", 1)
			s.receive("", 1, got{1, 1, "a"})
			s.receive("", 1, got{1, 2, "a"})
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, effects := range []map[int64]int64{nil, c.effects} {
				s := &scene{}
				c.play(s)
				r := s.check(t, Options{Effects: effects})
				if legal := len(r.Violations) == 0; legal != c.legal || len(r.Unknown) > 0 {
					t.Errorf("with the log %v: legal: %v, want %v: %+v", effects != nil, legal, c.legal, r)
				}
			}
		})
	}
}

// TestOverlap: calls at the same time may take effect in either order, calls one
// after the other only in one.
func TestOverlap(t *testing.T) {
	for _, overlap := range []bool{true, false} {
		s := &scene{}
		first, second := s.send("a", "k2", 2), s.send("a", "k1", 1)
		first.LogTime, second.LogTime = 1000, 1000
		if overlap {
			second.Client, second.Call = 2, first.Call+1
		}
		if r := s.check(t, Options{}); (len(r.Violations) == 0) != overlap {
			t.Errorf("overlap %v: %+v", overlap, r)
		}
	}
}

// TestBudget: what is too large is unknown, and too much of it inconclusive.
func TestBudget(t *testing.T) {
	s := &scene{}
	for n := range unknownMax + 1 {
		lose(s.send("a", "k", n))
	}
	r := s.check(t, Options{})
	if len(r.Unknown) != 1 || len(r.Violations) > 0 || r.Conclusive() {
		t.Errorf("report: %+v", r)
	}
}

// TestPicture: an object that cannot be put into an order leaves a page.
func TestPicture(t *testing.T) {
	s := &scene{}
	s.send("a", "k1", 1)
	s.receive("", 1)
	s.events = append(s.events, &history.Event{Kind: history.KindFault, Action: "kill leader", Call: 1, Return: 2e6})
	dir := t.TempDir()
	r := s.check(t, Options{Pictures: dir})
	if len(r.Violations) != 1 {
		t.Fatalf("report: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "linearizability-"+sceneQueue+".html")); err != nil {
		t.Error(err)
	}
}
