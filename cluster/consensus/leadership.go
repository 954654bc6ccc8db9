package consensus

import (
	"context"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Leadership names the leader of a term.
type Leadership struct {
	Term     uint64
	LeaderID string // node id; empty: unknown
	Self     bool   // this node leads
}

// leadershipSource is the part of the library that the watch reads.
type leadershipSource interface {
	State() raft.RaftState
	LeaderWithID() (raft.ServerAddress, raft.ServerID)
	CurrentTerm() uint64
}

// leadershipWatch turns the library's notifications into the current leadership, a signal when it
// changes, and the gains and losses of this node in order. Safe for concurrent use.
type leadershipWatch struct {
	source leadershipSource
	nodeID string

	// notify receives each gain and loss from the library's main loop, which blocks until run
	// receives it.
	notify chan bool
	// observed signals a change of the leader. Capacity 1: one pending signal stands for all.
	observed chan raft.Observation
	// own delivers gains and losses. run queues them: none may be dropped, and the library must not
	// wait.
	own chan bool
	// follows is called when the known leader changes, with whether it is another node.
	follows func(bool)
	// removed is called when the library stopped by itself.
	removed func()

	mu      sync.Mutex
	current Leadership
	changed wakeup.Broadcast
	changes uint64 // of the leader
}

func newLeadershipWatch(nodeID string, follows func(bool), removed func()) *leadershipWatch {
	return &leadershipWatch{
		nodeID:   nodeID,
		notify:   make(chan bool),
		observed: make(chan raft.Observation, 1),
		own:      make(chan bool),
		follows:  follows,
		removed:  removed,
	}
}

// observer returns an observer that signals observed.
func (w *leadershipWatch) observer() *raft.Observer {
	return raft.NewObserver(w.observed, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		default:
			return false
		}
	})
}

// run passes notifications on until ctx ends. The source must be set before.
func (w *leadershipWatch) run(ctx context.Context) {
	var waiting []bool
	w.refresh()
	for {
		var out chan bool
		next := false
		if len(waiting) > 0 {
			out, next = w.own, waiting[0]
		}
		select {
		case leads := <-w.notify:
			waiting = append(waiting, leads)
			w.refresh()
		case <-w.observed:
			w.refresh()
			if w.source.State() == raft.Shutdown && ctx.Err() == nil {
				w.removed()
			}
		case out <- next:
			waiting = waiting[1:]
		case <-ctx.Done():
			return
		}
	}
}

// refresh reads the current leadership.
func (w *leadershipWatch) refresh() {
	_, leader := w.source.LeaderWithID()
	now := Leadership{Term: w.source.CurrentTerm(), LeaderID: string(leader)}
	now.Self = now.LeaderID == w.nodeID && w.source.State() == raft.Leader
	if w.note(now) {
		w.follows(now.LeaderID != "" && now.LeaderID != w.nodeID)
	}
}

// note stores the current leadership and reports whether it changed.
func (w *leadershipWatch) note(now Leadership) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == w.current {
		return false
	}
	if now.LeaderID != "" && (now.LeaderID != w.current.LeaderID || now.Term != w.current.Term) {
		w.changes++
	}
	w.current = now
	w.changed.Notify()
	return true
}

func (w *leadershipWatch) leadership() Leadership {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

func (w *leadershipWatch) leaderChanges() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}
