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
	LeaderID string // node id, empty if unknown
	Self     bool   // this node leads
}

// leadershipSource is what the watch reads of the library.
type leadershipSource interface {
	State() raft.RaftState
	LeaderWithID() (raft.ServerAddress, raft.ServerID)
	CurrentTerm() uint64
}

// leadershipWatch turns the library's notifications into the present
// leadership, a signal when it changes, and the gains and losses of this node in
// order. Safe for concurrent use.
type leadershipWatch struct {
	source leadershipSource
	nodeID string

	// notify gets each gain and loss from the library's main loop, which
	// blocks until it is taken. Unbuffered: run takes at once.
	notify chan bool
	// observed says that something about the leader changed. Capacity one: a
	// signal that waits stands for all that follow.
	observed chan raft.Observation
	// own passes gains and losses on. Unbuffered; run queues them, since
	// none may be left out and the library must not wait.
	own chan bool
	// follows is called with whether another node is known to lead, when what is known of the
	// leader changes.
	follows func(bool)
	// removed is called when the library has stopped by itself.
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

// observer makes the library signal observed.
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

// run passes notifications on until ctx ends. The source must be set.
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

// refresh reads the present leadership.
func (w *leadershipWatch) refresh() {
	_, leader := w.source.LeaderWithID()
	now := Leadership{Term: w.source.CurrentTerm(), LeaderID: string(leader)}
	now.Self = now.LeaderID == w.nodeID && w.source.State() == raft.Leader
	if w.note(now) {
		w.follows(now.LeaderID != "" && now.LeaderID != w.nodeID)
	}
}

// note takes over the present leadership and reports whether it is another one.
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

func (w *leadershipWatch) leadershipChanged() <-chan struct{} { return w.changed.Changed() }

func (w *leadershipWatch) leaderChanges() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}
