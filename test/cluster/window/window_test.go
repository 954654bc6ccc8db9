package window

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var idsFlag = flag.Int("ids", 5000, "how many ids the window is to hold")

const (
	workers    = 64
	groups     = 1000
	purgeEvery = 250_000
	samples    = 1000
	ids        = "ids.fifo"
	day        = 86_400
	// between is the pause between the two halves of the ids, in which a shorter window will end.
	between = 6 * time.Second
)

// TestWindow keeps -ids ids in one queue with a window of days.
func TestWindow(t *testing.T) {
	s := newSite(t)
	s.must(s.create(t.Context(), ids, map[string]string{
		"DeduplicationWindowSeconds": strconv.Itoa(6 * day), "PurgeClearsDeduplicationHistory": "false",
	}))
	s.must(s.create(t.Context(), probes, nil))
	half, step := *idsFlag/2, max(1, *idsFlag/samples)
	empty := s.heap()
	older := s.fillHalf(0, half, step)
	olderEnd := s.logTime()
	time.Sleep(between)
	youngerBegin := s.logTime()
	younger := s.fillHalf(half, 2*half, step)
	s.remembered(2 * half)
	s.weigh(empty, 2*half)
	s.known("after the filling", older, younger)

	t.Run("leader killed", func(t *testing.T) {
		s := s.in(t)
		leader := s.leader()
		began := time.Now()
		s.must(leader.Kill())
		s.report("from the kill of the leader to the next accepted message", s.nextAccepted(began))
		s.known("at another leader", older, younger)
		began = time.Now()
		s.must(leader.Start())
		s.ready()
		s.report("from the start of the killed node until it is ready", time.Since(began))
	})
	t.Run("all killed", func(t *testing.T) {
		s := s.in(t)
		for _, n := range s.Nodes {
			s.must(n.Kill())
		}
		began := time.Now()
		for _, n := range s.Nodes {
			s.must(n.Start())
		}
		s.report("from the start of all nodes to the next accepted message", s.nextAccepted(began))
		s.ready()
		s.report("from the start of all nodes until all are ready", time.Since(began))
		s.remembered(2 * half)
		s.known("after the restart", older, younger)
		s.weigh(empty, 2*half)
	})
	t.Run("window grows", func(t *testing.T) {
		s := s.in(t)
		s.watched("while the window grows", func() {
			s.must(s.resize(t.Context(), ids, 7*day))
			s.known("in a longer window", older, younger)
		})
	})
	t.Run("window shrinks and grows", func(t *testing.T) {
		s := s.in(t)
		s.watched("while half of the ids are forgotten", func() {
			// The shorter window ends in the middle of the pause.
			now := s.logTime()
			length := (now - (olderEnd+youngerBegin)/2) / 1000
			s.must(s.resize(t.Context(), ids, length))
			s.must(s.resize(t.Context(), ids, 7*day))
			if took := s.logTime() - now; took > between.Milliseconds()/3 {
				// Then the younger ids may have expired, too.
				t.Logf("not checked: the window was short for %d ms", took)
				younger = nil
			}
			s.known("in a window that was shorter for a moment", younger)
			began := time.Now()
			s.forgotten(2*half - half)
			s.report("until they were out of memory", time.Since(began))
		})
		s.unknown("beyond the end of a window that was shorter for a moment", older)
	})
	t.Run("all are forgotten", func(t *testing.T) {
		s := s.in(t)
		s.watched("while all ids are forgotten", func() {
			began := time.Now()
			s.must(s.resize(t.Context(), ids, 1))
			s.forgotten(0)
			s.report("until they were out of memory", time.Since(began))
		})
		s.weigh(empty, 0)
	})
	harness.Check(t, harness.Err(s.WaitConverged(t.Context(), harness.StartTimeout)))
}
