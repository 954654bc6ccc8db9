package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/logcheck"
)

// testbed has the nodes of a run, their disks, the network between them, and the history. Its
// fields do not change after it is made. Safe for concurrent use.
type testbed struct {
	place      harness.Options // of the nodes
	cluster    *harness.Cluster
	disks      *disk.Lab    // nil: not possible on this machine
	network    *network.Lab // nil: not possible on this machine
	recorder   *history.Recorder
	logChecker *logcheck.Checker // nil: the nodes write no taps
	probe      *client           // creates the queues and reads their counters; used by one goroutine
	seed       uint64
	pace       time.Duration // longest think time of a client
	reading    time.Duration // extra time for a node's start, to read the parked messages
	backlog    *parked       // nil: nothing is parked
	part       int           // the part of a long run; each has its own queues and clients
	hooks      bool          // the nodes run a fault build
	bodies     error         // why bodies cannot be damaged; nil: they can
	access     *access       // of clients, nil: in clear text and unsigned
	rules      history.Rules

	progress progress
}

// progress is the mutable state of a testbed.
type progress struct {
	mu      sync.Mutex
	claimed []*harness.Node // whose process or disk a fault uses
	deposed string          // the node that led before the current leader
	leads   string
	spares  int               // nodes that were added
	probes  int               // the number of probes so far
	ran     []string          // faults that were injected and repaired
	agreed  int               // number of times that all replicas were equal
	skewed  int64             // until when a clock was wrong
	read    map[string]int    // bytes of the nodes' logs that were already counted
	lost    *harness.Node     // its disk was emptied, and it is not replaced yet; nil: none
	armed   map[string]string // failpoints by node, armed at its next start
	damaged []damage          // damaged bodies that are not healed yet
}

// setFailpoints sets the failpoints with which a node starts from now on.
func (s *testbed) setFailpoints(node, failpoints string) {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	if s.progress.armed == nil {
		s.progress.armed = map[string]string{}
	}
	s.progress.armed[node] = failpoints
}

// skewedUntil returns the time until which a clock was wrong, or 0.
func (s *testbed) skewedUntil() int64 {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	return s.progress.skewed
}

// suffix returns the suffix of queue names.
func (s *testbed) suffix() string {
	if s.part == 0 {
		return ""
	}
	return fmt.Sprintf("-%d", s.part)
}

// claim takes a node for one fault, unless another has it.
func (s *testbed) claim(n *harness.Node) bool {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	if slices.Contains(s.progress.claimed, n) {
		return false
	}
	s.progress.claimed = append(s.progress.claimed, n)
	return true
}

func (s *testbed) release(nodes ...*harness.Node) {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	s.progress.claimed = slices.DeleteFunc(s.progress.claimed, func(n *harness.Node) bool { return slices.Contains(nodes, n) })
}

func (s *testbed) isClaimed(n *harness.Node) bool {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	return slices.Contains(s.progress.claimed, n)
}

// leading records which node leads.
func (s *testbed) leading(name string) {
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	if name != s.progress.leads {
		s.progress.deposed, s.progress.leads = s.progress.leads, name
	}
}

// named returns a node by its name, or nil.
func (s *testbed) named(name string) *harness.Node {
	for _, n := range s.cluster.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// observe records an event that shows the effect of a fault.
func (s *testbed) observe(action, node string, count int64) {
	now := s.recorder.Now()
	s.recorder.Add(history.Event{Kind: history.KindObserved, Action: action, Node: node, Call: now, Return: now,
		Detail: history.Detail{Count: count}})
}

// adminTimeout bounds a call of the admin port; changes of the members take long.
const adminTimeout = 20 * time.Second

// admin calls the admin port of a node with a JSON body.
func (s *testbed) admin(ctx context.Context, n *harness.Node, method, path, body string) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout+s.reading)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.Admin+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return fmt.Errorf("%s %s of %s: %w", method, path, n.Name, err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s of %s: %w", method, path, n.Name, err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // only for the text of the error
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s of %s: HTTP %d %s", method, path, n.Name, response.StatusCode, text)
	}
	return nil
}

// startMissing starts nodes that do not run and that no fault uses.
func (s *testbed) startMissing() error {
	for _, n := range s.cluster.Nodes {
		if n.Running() || s.isClaimed(n) {
			continue
		}
		if err := n.Start(); err != nil {
			return err
		}
	}
	return nil
}

// empty deletes everything in a folder except the folder, which may be a mount point. The deletion
// survives a power cut.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	for _, entry := range entries {
		if entry.Name() == "lost+found" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("empty %s: %w", dir, err)
		}
	}
	return disk.SyncFS(dir)
}
