package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// quietWindow is a window in which the servers are measured while consumers wait. The quietest
// window counts, since consumers connect before it and receive after it.
const quietWindow = 5 * time.Second

// waiting measures the servers while consumers wait, and then how fast the consumers wake up.
func (s *testbed) waiting(ctx context.Context) error {
	n := s.times(10_000)
	var busy, disk, wake, entries []float64
	weight := 0.0
	for round := range rounds {
		before := s.resident()
		w, err := s.watchPolls(ctx, n)
		if err != nil {
			return err
		}
		if round == 0 { // later rounds start with the memory of the first one
			weight = (w.memory - before) * float64(len(s.Nodes)) / float64(n)
		}
		if w.diskKnown {
			disk = append(disk, w.disk)
		}
		busy, wake = append(busy, w.busy), append(wake, w.polls.Latency["receive"].P50Us/1e3)
		for _, check := range w.polls.Checks {
			if strings.HasPrefix(check.Name, "log entries") {
				entries = append(entries, float64(check.Count))
			}
			if strings.HasPrefix(check.Name, "lost") && check.Count > 0 {
				s.noneAbove(0, check.Name, "", float64(check.Count))
			}
		}
	}
	s.note("consumers", "", float64(n))
	s.noneAbove(0, "log entries while consumers wait", "", entries...)
	s.atMost(0, fmt.Sprintf("written to the disks of all nodes in the quietest %v", quietWindow), "B", disk...)
	s.atMost(5, "processor time of all three nodes while consumers wait, share of a core", "%", busy...)
	s.atMost(16, "resident memory for a consumer, at its node", "KiB", weight/1024)
	s.atMost(1.5, "from a send to the consumer, p50, sent through each node in turn", "ms", wake...)
	return nil
}

// watched measures the servers while consumers wait.
type watched struct {
	polls     report
	busy      float64 // percent of a core, in the quietest window
	disk      float64 // bytes, in the quietest window
	diskKnown bool    // the system reports it
	memory    float64 // of a node, at most
}

// watchPolls lets consumers wait and looks at the servers.
func (s *testbed) watchPolls(ctx context.Context, n int) (w watched, err error) {
	ended := make(chan error, 1) // the one end
	go func() {
		var err error
		w.polls, err = s.bench(ctx, "poll", "--clients", fmt.Sprint(n), "--idle", (3 * quietWindow).String(), "--duration", "5s")
		ended <- err
	}()
	first := true
	used := s.cpuSeconds()
	disk, known := s.written()
	for {
		select {
		case err := <-ended:
			return w, err
		case <-time.After(quietWindow):
		}
		usedNow := s.cpuSeconds()
		diskNow, stillKnown := s.written()
		w.diskKnown = known && stillKnown
		busy, wrote := 100*(usedNow-used)/quietWindow.Seconds(), diskNow-disk
		if first || busy < w.busy {
			w.busy = busy
		}
		if first || wrote < w.disk {
			w.disk = wrote
		}
		first, used, disk = false, usedNow, diskNow
		w.memory = max(w.memory, s.resident())
	}
}
