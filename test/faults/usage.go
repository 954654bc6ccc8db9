package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// usageOf returns the resource usage of a node's process from the kernel, not from the node. An
// error means that the process is gone, or that there is no /proc.
func usageOf(n *harness.Node) (history.Usage, error) {
	u := history.Usage{Pid: n.Pid()}
	proc := filepath.Join("/proc", strconv.Itoa(u.Pid))
	sizes, err := os.ReadFile(filepath.Join(proc, "statm"))
	if err != nil {
		return u, fmt.Errorf("look at the memory of %s: %w", n.Name, err)
	}
	pages := strings.Fields(string(sizes))
	if len(pages) < 2 {
		return u, fmt.Errorf("look at the memory of %s: %q", n.Name, sizes)
	}
	resident, err := strconv.ParseInt(pages[1], 10, 64)
	if err != nil {
		return u, fmt.Errorf("look at the memory of %s: %w", n.Name, err)
	}
	u.Memory = resident * int64(os.Getpagesize())
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return u, fmt.Errorf("look at the descriptors of %s: %w", n.Name, err)
	}
	u.Descriptors = len(open)
	return u, nil
}

// noteUsage records the resource usage of a node's process.
func (s *testbed) noteUsage(n *harness.Node, when string, goroutines int) {
	u, err := usageOf(n)
	if err != nil {
		return // it has ended meanwhile
	}
	u.Goroutines = goroutines
	now := s.recorder.Now()
	s.recorder.Add(history.Event{Kind: history.KindUsage, Action: when, Node: n.Name, Call: now, Return: now,
		Detail: history.Detail{Usage: &u}})
}

// noteUsages records the usage of all nodes when everything is repaired, and counts their
// goroutines, which pauses them for a moment.
func (s *testbed) noteUsages(when string) {
	for _, n := range s.cluster.Nodes {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		goroutines := 0
		if text, err := n.Get(ctx, "/debug/pprof/goroutine?debug=1"); err == nil {
			// Any other line leaves the count at 0.
			_, _ = fmt.Sscanf(string(text), "goroutine profile: total %d", &goroutines)
		}
		cancel()
		s.noteUsage(n, when, goroutines)
	}
}
