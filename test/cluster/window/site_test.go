package window

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// probes is another queue. If its messages are delayed, all are.
const probes = "probes.fifo"

// site is a cluster with its callers. A failure ends the test.
type site struct {
	*caller
	*harness.Cluster
	t     *testing.T
	probe *int // number of the next probe
}

func newSite(t *testing.T) *site {
	t.Helper()
	c := harness.New(t, harness.Options{Binary: binary, Args: []string{"--profiles"}})
	return &site{caller: newCaller(c), Cluster: c, t: t, probe: new(int)}
}

func (s site) in(t *testing.T) *site {
	s.t = t
	return &s
}

func (s *site) must(err error) {
	s.t.Helper()
	harness.Must(s.t, err)
}

func (s *site) report(what string, took time.Duration) {
	s.t.Helper()
	s.t.Logf("%s: %v", what, took.Round(time.Millisecond))
}

func (s *site) leader() *harness.Node {
	s.t.Helper()
	leader, err := s.WaitLeader(s.t.Context(), harness.StartTimeout)
	s.must(err)
	return leader
}

func (s *site) ready() {
	s.t.Helper()
	s.must(s.WaitReady(s.t.Context(), waitMax))
}

// logTime returns the time of a new log entry.
func (s *site) logTime() int64 {
	s.t.Helper()
	s.nextAccepted(time.Now())
	status, err := s.leader().Status(s.t.Context())
	s.must(err)
	return status.LogTimeMs
}

// nextAccepted repeats a send until it is accepted.
func (s *site) nextAccepted(began time.Time) time.Duration {
	s.t.Helper()
	*s.probe++
	_, err := s.send(s.t.Context(), probes, *s.probe)
	s.must(err)
	return time.Since(began)
}

func (s *site) fillHalf(first, end, step int) map[int]accepted {
	s.t.Helper()
	began := time.Now()
	answers, err := s.fill(s.t.Context(), ids, first, end, step)
	s.must(err)
	took := time.Since(began)
	s.t.Logf("%d ids sent in %v, %.0f a second", end-first, took.Round(time.Second), float64(end-first)/took.Seconds())
	return answers
}

// known sends the samples again, each of which must get its first answer.
func (s *site) known(when string, samples ...map[int]accepted) {
	s.t.Helper()
	checked, wrong := 0, 0
	for _, each := range samples {
		s.again(each, func(id int, first, now accepted) {
			if checked++; now != first {
				wrong++
				s.t.Logf("%s: id %d was answered %+v, now %+v", when, id, first, now)
			}
		})
	}
	if wrong > 0 {
		s.t.Errorf("%s: %d of %d ids are not known any more", when, wrong, checked)
	}
	s.t.Logf("%s: %d ids are known", when, checked-wrong)
}

// unknown sends the samples again, each of which must be accepted as a new message.
func (s *site) unknown(when string, samples map[int]accepted) {
	s.t.Helper()
	s.again(samples, func(id int, first, now accepted) {
		if now == first {
			s.t.Errorf("%s: id %d is still known", when, id)
		}
	})
}

func (s *site) again(samples map[int]accepted, compare func(id int, first, now accepted)) {
	s.t.Helper()
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(samples)), batchSize) {
		answers, err := s.send(s.t.Context(), ids, batch...)
		s.must(err)
		for i, id := range batch {
			compare(id, samples[id], answers[i])
		}
	}
}

// remembered compares the numbers of ids that the nodes keep in memory.
func (s *site) remembered(want int) {
	s.t.Helper()
	_, err := s.WaitConverged(s.t.Context(), waitMax)
	s.must(err)
	for _, n := range s.Nodes {
		if got := s.metric(n, entriesMetric); int(got) != want {
			s.t.Errorf("%s keeps %.0f ids, want %d", n.Name, got, want)
		}
	}
}

// forgotten waits until no node keeps more than this number of ids. It gives up when they do not
// become fewer.
func (s *site) forgotten(most int) {
	s.t.Helper()
	for _, n := range s.Nodes {
		kept, since := s.metric(n, entriesMetric), time.Now()
		for kept > float64(most) {
			if time.Since(since) > waitMax {
				s.t.Fatalf("%s keeps %.0f ids, want at most %d", n.Name, kept, most)
			}
			time.Sleep(50 * time.Millisecond)
			if now := s.metric(n, entriesMetric); now < kept {
				kept, since = now, time.Now()
			}
		}
	}
}

const (
	entriesMetric = `seriatim_dedup_entries{queue="` + ids + `"}`
	applyMetric   = "seriatim_raft_apply_longest_seconds"
	heapMetric    = "go_memstats_heap_alloc_bytes"
)

func (s *site) metric(n *harness.Node, name string) float64 {
	s.t.Helper()
	text, err := n.Metrics(s.t.Context())
	s.must(err)
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			s.must(err)
			return number
		}
	}
	s.t.Fatalf("%s has no metric %s", n.Name, name)
	return 0
}

// heap returns the average heap of a node after a collection.
func (s *site) heap() (sum float64) {
	s.t.Helper()
	for _, n := range s.Nodes {
		_, err := n.Get(s.t.Context(), "/debug/pprof/heap?gc=1")
		s.must(err)
		sum += s.metric(n, heapMetric) / float64(len(s.Nodes))
	}
	return sum
}

// weigh reports the memory of the nodes, and of one id.
func (s *site) weigh(empty float64, count int) {
	s.t.Helper()
	heap := s.heap()
	s.t.Logf("with %d ids: live heap %.0f MB a node, %.1f B an id more than without; resident %s MB, at most so far %s MB", count,
		heap/1e6, (heap-empty)/float64(*idsFlag), s.memory("VmRSS"), s.memory("VmHWM"))
}

// memory returns a line of /proc/pid/status of each node, in megabytes, or an empty text without
// such a file.
func (s *site) memory(name string) string {
	var all []string
	for _, n := range s.Nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
		if err != nil {
			return ""
		}
		for line := range strings.Lines(string(text)) {
			var kilobytes int
			if value, found := strings.CutPrefix(line, name+":"); found {
				if _, err := fmt.Sscan(value, &kilobytes); err == nil {
					all = append(all, strconv.Itoa(kilobytes*1024/1e6))
				}
			}
		}
	}
	return strings.Join(all, ", ")
}

// watched calls a function while messages are sent one after the other to another queue. It reports
// their latencies before and meanwhile, and the longest apply.
func (s *site) watched(when string, do func()) {
	s.t.Helper()
	const before = 200
	var quiet []time.Duration
	for range before {
		quiet = append(quiet, s.nextAccepted(time.Now()))
	}
	applied := s.longestApply()
	ctx, stop := context.WithCancel(s.t.Context())
	done := make(chan []time.Duration, 1) // the latencies, sent once
	number := *s.probe
	go func() {
		var took []time.Duration
		for ctx.Err() == nil {
			began := time.Now()
			number++
			if _, err := s.send(ctx, probes, -number); err != nil {
				break // the error shows elsewhere
			}
			took = append(took, time.Since(began))
		}
		done <- took
	}()
	defer func() {
		stop()
		s.t.Logf("sends before: %s; %s: %s", spread(quiet), when, spread(<-done))
	}()
	do()
	s.t.Logf("longest apply of a batch of entries since the start of each node: before %s; %s: %s", applied, when, s.longestApply())
}

func (s *site) longestApply() string {
	s.t.Helper()
	var all []string
	for _, n := range s.Nodes {
		all = append(all, fmt.Sprintf("%.1f", s.metric(n, applyMetric)*1e3))
	}
	return strings.Join(all, ", ") + " ms"
}

func spread(took []time.Duration) string {
	if len(took) == 0 {
		return "none"
	}
	slices.Sort(took)
	at := func(part float64) time.Duration {
		return took[int(part*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%d, median %v, p99 %v, longest %v", len(took), at(0.5), at(0.99), at(1))
}
