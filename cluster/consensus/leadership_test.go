package consensus

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// changingLeader is a library whose leader changes.
type changingLeader struct {
	state  atomic.Uint32
	term   atomic.Uint64
	leader atomic.Pointer[string]
}

func (c *changingLeader) State() raft.RaftState { return raft.RaftState(c.state.Load()) }
func (c *changingLeader) CurrentTerm() uint64   { return c.term.Load() }
func (c *changingLeader) LeaderWithID() (raft.ServerAddress, raft.ServerID) {
	if id := c.leader.Load(); id != nil {
		return raft.ServerAddress(*id), raft.ServerID(*id)
	}
	return "", ""
}

func TestLeadershipWatchDeliversEveryGainAndLoss(t *testing.T) {
	clustertest.VerifyNoLeaks(t)
	follows := make(chan bool, 2) // for each leader
	watch := newLeadershipWatch("a-1", func(another bool) { follows <- another }, func() { t.Error("removed") })
	source := &changingLeader{}
	watch.source = source
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	done := make(chan struct{})
	go func() { defer close(done); watch.run(ctx) }()

	changed := watch.changed.Changed()
	self := "a-1"
	source.term.Store(3)
	source.leader.Store(&self)
	source.state.Store(uint32(raft.Leader))
	// The library never waits for the receiver.
	want := []bool{true, false, true, false, true}
	for _, leads := range want {
		watch.notify <- leads
	}
	<-changed
	if got := watch.leadership(); got != (Leadership{Term: 3, LeaderID: "a-1", Self: true}) {
		t.Errorf("got %+v", got)
	}
	for i, leads := range want {
		if got := <-watch.own; got != leads {
			t.Fatalf("number %d: got %v", i, got)
		}
	}
	changed = watch.changed.Changed()
	other := "b-2"
	source.state.Store(uint32(raft.Follower))
	source.term.Store(4)
	source.leader.Store(&other)
	watch.observed <- raft.Observation{}
	<-changed
	if got := watch.leadership(); got != (Leadership{Term: 4, LeaderID: "b-2"}) {
		t.Errorf("got %+v", got)
	}
	for i, want := range []bool{false, true} {
		if got := <-follows; got != want {
			t.Errorf("leader number %d is another node: %v", i+1, got)
		}
	}
	if got := watch.leaderChanges(); got != 2 {
		t.Errorf("%d changes", got)
	}
	cancel()
	<-done
}
