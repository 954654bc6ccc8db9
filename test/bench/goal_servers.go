package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// resident is the resident memory of each node, on average.
func (s *testbed) resident() (sum float64) {
	for _, n := range s.Nodes {
		sum += memoryOf(n, "VmRSS") / float64(len(s.Nodes))
	}
	return sum
}

// live returns the average heap of a node after a collection.
func (s *testbed) live(ctx context.Context) (sum float64, err error) {
	for _, n := range s.Nodes {
		if _, err := n.Get(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
		bytes, err := s.metric(ctx, n, "go_memstats_heap_alloc_bytes")
		if err != nil {
			return 0, err
		}
		sum += bytes / float64(len(s.Nodes))
	}
	return sum, nil
}

// memoryOf is a line of /proc/pid/status in bytes, 0 where there is none.
func memoryOf(n *harness.Node, name string) float64 {
	var kilobytes float64
	text := valueOf(fmt.Sprintf("/proc/%d/status", n.Pid()), name, "")
	if _, err := fmt.Sscan(text, &kilobytes); err != nil {
		return 0
	}
	return 1024 * kilobytes
}

// written returns the bytes that all nodes have written to their disks so far. known is false if
// the system does not report them.
func (s *testbed) written() (sum float64, known bool) {
	for _, n := range s.Nodes {
		bytes, err := strconv.ParseFloat(valueOf(fmt.Sprintf("/proc/%d/io", n.Pid()), "write_bytes", ""), 64)
		if err != nil {
			return 0, false
		}
		sum += bytes
	}
	return sum, true
}

// metric is the value of a metric without labels of one node.
func (s *testbed) metric(ctx context.Context, n *harness.Node, name string) (float64, error) {
	text, err := n.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0, fmt.Errorf("%s of %s: %w", name, n.Name, err)
			}
			return number, nil
		}
	}
	return 0, fmt.Errorf("%s has no %s", n.Name, name)
}

// cpuSeconds is the processor time of all servers so far.
func (s *testbed) cpuSeconds() float64 { return processorTime(s.Nodes).Seconds() }
