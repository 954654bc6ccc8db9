package faults

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// observer watches the nodes: two states at one index, two leaders in one term,
// a term that falls, how often leadership moved, snapshots that were installed,
// processes that ended by themselves, and how far log time is from true time.
// Used by one goroutine.
type observer struct {
	testbed *testbed
	hashes  map[uint64]harness.Status
	leaders map[uint64]string
	term    uint64
	nodes   map[string]*seen
}

// seen is the last observed state of a node.
type seen struct {
	role     string
	id       string // a new one after its disk was emptied
	term     uint64
	pid      int
	restored float64 // snapshots restored by this process
	healed   float64 // bodies healed by this process
	own      float64 // 1 if its next start restores its own snapshot, otherwise 0
	exits    int     // ends of its processes that were noted
	looked   int64   // when its metrics were read
	noted    int64   // when its status was recorded
}

// The observer looks at every node each observeEvery, at its metrics and its log
// time each measureEvery.
const (
	observeEvery = 200 * time.Millisecond
	measureEvery = 2_000_000 // microseconds
	hashesKept   = 4096
)

func (s *testbed) newObserver() *observer {
	return &observer{testbed: s, hashes: map[uint64]harness.Status{}, leaders: map[uint64]string{}, nodes: map[string]*seen{}}
}

// watch looks at the nodes until ctx ends.
func (o *observer) watch(ctx context.Context) {
	var stalls sync.WaitGroup
	stalls.Go(func() { o.testbed.watchMachine(ctx) })
	defer stalls.Wait()
	for pause(ctx, observeEvery) {
		for _, n := range o.testbed.cluster.Nodes {
			o.look(ctx, n)
		}
	}
}

// look records what has changed on a node.
func (o *observer) look(ctx context.Context, n *harness.Node) {
	known := o.nodes[n.Name]
	if known == nil {
		known = &seen{}
		o.nodes[n.Name] = known
	}
	o.ended(n, known)
	if !n.Running() {
		o.revive(n)
		known.own = ownSnapshot(n)
		o.turn(n, known, history.Status{Role: "down", Term: known.term})
		return
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	status, err := n.Status(short)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		o.turn(n, known, history.Status{Role: "silent", Term: known.term})
		return
	}
	o.compare(status)
	if status.NodeID != known.id {
		known.id, known.term = status.NodeID, 0
	}
	o.turn(n, known, history.Status{
		Role: status.Role, Term: status.Term, Applied: status.AppliedIndex, Snapshot: status.LastSnapshotIndex,
		LogTime: status.LogTimeMs, Hash: status.StateHash,
	})
	if o.testbed.recorder.Now()-known.looked >= measureEvery {
		o.measure(ctx, n, known)
		o.testbed.noteUsage(n, "", 0)
	}
}

// turn records a node's role when it changes, and otherwise every measureEvery.
func (o *observer) turn(n *harness.Node, known *seen, s history.Status) {
	now := o.testbed.recorder.Now()
	if s.Role == known.role && s.Term == known.term && now-known.noted < measureEvery {
		return
	}
	known.noted = now
	if s.Term < known.term && s.Role != "down" && s.Role != "silent" {
		o.testbed.recorder.Add(history.Event{
			Kind: history.KindAgree, Node: n.Name, Call: now, Return: now, Result: history.Fail,
			Error: fmt.Sprintf("the term of %s fell from %d to %d", n.Name, known.term, s.Term),
		})
	}
	known.role, known.term = s.Role, s.Term
	seen := history.Detail{Status: &s}
	o.testbed.recorder.Add(history.Event{Kind: history.KindStatus, Node: n.Name, Call: now, Return: now, Detail: seen})
}

// measure records the snapshots that a node got from a leader: all that its process restored except
// its own, which it restores at the start if it has one.
func (o *observer) measure(ctx context.Context, n *harness.Node, known *seen) {
	known.looked = o.testbed.recorder.Now()
	pid := n.Pid()
	metrics, err := n.Metrics(ctx)
	if err != nil || n.Pid() != pid {
		return
	}
	before := known.restored
	if pid != known.pid {
		known.healed = 0
		known.pid, before = pid, known.own
		known.own = 1 // corrected if the node is seen down before its next start
	}
	healed := metric(metrics, "seriatim_bodies_healed_total")
	if healed > known.healed {
		o.testbed.observe("bodies healed", n.Name, int64(healed-known.healed))
	}
	known.healed = healed
	known.restored = restored(metrics)
	if known.restored > before {
		o.testbed.observe("snapshot installed", n.Name, int64(known.restored-before))
	}
}

// ownSnapshot returns 1 if a node that is down has a snapshot to start from.
func ownSnapshot(n *harness.Node) float64 {
	entries, err := os.ReadDir(filepath.Join(n.DataDir, "group-0", "snapshots"))
	if err != nil || len(entries) == 0 {
		return 0
	}
	return 1
}

// ended records every process that ended by itself, also if it was restarted before the observer
// looked.
func (o *observer) ended(n *harness.Node, known *seen) {
	exits := n.Exits()
	for _, exit := range exits[known.exits:] {
		if exit.Code <= 0 {
			continue // killed by a signal, or ended cleanly
		}
		at := o.testbed.recorder.At(exit.At)
		o.testbed.recorder.Add(history.Event{
			Kind: history.KindObserved, Action: fmt.Sprintf("exit code %d", exit.Code), Node: n.Name, Call: at, Return: at,
			Error: lastError(n.LogTail()), Detail: history.Detail{Count: 1},
		})
	}
	known.exits = len(exits)
}

// revive restarts a node that ended because the machine's disk was too slow for it or because it
// was paused during a write, as a supervisor would. If the start fails, the node is seen to be
// down.
func (o *observer) revive(n *harness.Node) {
	exits := n.Exits()
	if len(exits) > 0 && exits[len(exits)-1].Code == exitHang && !o.testbed.isClaimed(n) {
		_ = n.Start()
	}
}

// lastError is the last line of a log that is not a line of the logger.
func lastError(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.Contains(line, "panic") || strings.Contains(line, "ERROR") || strings.Contains(line, "seriatim:") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// compare checks I13(b) and (c) with the status of nodes.
func (o *observer) compare(s harness.Status) {
	now := o.testbed.recorder.Now()
	if first, known := o.hashes[s.AppliedIndex]; !known {
		o.hashes[s.AppliedIndex] = s
	} else if first.StateHash != s.StateHash {
		o.testbed.recorder.Add(history.Event{
			Kind: history.KindAgree, Call: now, Return: now, Result: history.Fail,
			Error: fmt.Sprintf("at index %d %s has %s, %s has %s", s.AppliedIndex, first.NodeName, first.StateHash, s.NodeName,
				s.StateHash),
		})
	}
	if len(o.hashes) > hashesKept {
		maps.DeleteFunc(o.hashes, func(index uint64, _ harness.Status) bool { return index+hashesKept < s.AppliedIndex })
	}
	if s.Role != "leader" {
		return
	}
	if other, known := o.leaders[s.Term]; known && other != s.NodeName {
		o.testbed.recorder.Add(history.Event{Kind: history.KindAgree, Call: now, Return: now, Result: history.Fail,
			Error: fmt.Sprintf("%s and %s lead in term %d", other, s.NodeName, s.Term)})
	}
	o.leaders[s.Term] = s.NodeName
	o.testbed.leading(s.NodeName)
	if s.Term > o.term {
		if o.term != 0 {
			o.testbed.observe("leader change", s.NodeName, 1)
		}
		o.term = s.Term
	}
}
