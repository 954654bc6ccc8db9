package faults

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The observer writes and syncs a file on the machine's own disk every machineEvery. If this takes
// machineStall, a slow disk of a node is the machine's fault.
const (
	machineEvery = 250 * time.Millisecond
	machineStall = 2 * time.Second
)

// watchMachine records the moments in which the machine itself stood still, until ctx ends.
func (s *testbed) watchMachine(ctx context.Context) {
	file, err := os.CreateTemp(filepath.Dir(s.place.Dir), "machine-")
	if err != nil {
		return // then no failure is blamed on the machine
	}
	defer os.Remove(file.Name())
	defer file.Close()
	for {
		began := s.recorder.Now()
		more := pause(ctx, machineEvery)
		if _, err := file.WriteAt([]byte{1}, 0); err != nil || file.Sync() != nil {
			return
		}
		if end := s.recorder.Now(); end-began > (machineEvery + machineStall).Microseconds() {
			s.recorder.Add(history.Event{Kind: history.KindTouch, Action: history.TouchMachine, Call: began, Return: end})
		}
		if !more {
			return
		}
	}
}

// logged maps log lines to the observations they stand for. Only its log tells what the consensus
// library did.
var logged = map[string]string{
	"Election timeout reached, restarting election": "elections lost",
	"clearing log suffix":                           "conflicting entries removed from a log",
}

// noteLogs counts these lines in the nodes' logs since the last part.
func (s *testbed) noteLogs() {
	for _, n := range s.cluster.Nodes {
		log := n.Log()
		s.progress.mu.Lock()
		if s.progress.read == nil {
			s.progress.read = map[string]int{}
		}
		begin := min(s.progress.read[n.Name], len(log))
		s.progress.read[n.Name] = len(log)
		s.progress.mu.Unlock()
		for line, what := range logged {
			if count := strings.Count(log[begin:], line); count > 0 {
				s.observe(what, n.Name, int64(count))
			}
		}
	}
}
