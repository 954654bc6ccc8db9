package linearizability

import "testing"

// A send that the servers did twice is answered with the log time of the second
// time, when a later message may have its number already.
func TestRepeatedSend(t *testing.T) {
	var s scene
	a := s.send("g", "k1", 1)
	b := s.send("g", "k2", 2)
	first, second := a.LogTime, b.LogTime+500
	a.Return, a.LogTime = 1000*(second+50), second
	s.wait = 1
	s.receive("", 2, got{1, 1, "g"}, got{2, 1, "g"})
	if r := s.check(t, Options{}); len(r.Violations) != 1 {
		t.Errorf("without knowing that it was done twice: %+v", r)
	}
	twice := Options{Repeated: map[int64][2]int64{a.ID: {first, second}}}
	if r := s.check(t, twice); len(r.Violations) != 0 {
		t.Errorf("done twice: %+v", r)
	}
	// It is in front of the other one all the same.
	last := s.events[len(s.events)-1]
	last.Messages[0], last.Messages[1] = last.Messages[1], last.Messages[0]
	if r := s.check(t, twice); len(r.Violations) != 1 {
		t.Errorf("done twice, and received in the wrong order: %+v", r)
	}
}

// A receive that was done twice hides its messages from the second time on.
func TestRepeatedReceive(t *testing.T) {
	var s scene
	s.send("g", "k1", 1)
	taken := s.receive("a", 1, got{1, 1, "g"})
	empty := s.receive("", 1)
	first, second := taken.LogTime, empty.LogTime+500
	taken.Return, taken.LogTime = 1000*(second+50), second
	twice := Options{Repeated: map[int64][2]int64{taken.ID: {first, second}}}
	if r := s.check(t, twice); len(r.Violations) != 0 {
		t.Errorf("done twice: %+v", r)
	}
	if r := s.check(t, Options{}); len(r.Violations) != 1 {
		t.Errorf("without knowing that it was done twice: %+v", r)
	}
}
