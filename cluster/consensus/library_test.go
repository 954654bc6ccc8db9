package consensus

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// TestStuckTransferEndsTheNode guards against raft issue 696.
func TestStuckTransferEndsTheNode(t *testing.T) {
	tests := []struct {
		name   string
		leads  bool
		probe  error
		relief []error // further outcomes
		want   []fault.ExitCode
	}{
		{"stuck", true, raft.ErrLeadershipTransferInProgress, []error{raft.ErrLeadershipTransferInProgress}, []fault.ExitCode{fault.ExitStuckTransfer}},
		{"the transfer ended", true, nil, nil, nil},
		{"leadership is gone", false, raft.ErrLeadershipTransferInProgress, nil, nil},
		{"a proposal was accepted", true, raft.ErrLeadershipTransferInProgress, []error{nil}, nil},
		{"leadership was lost meanwhile", true, raft.ErrLeadershipTransferInProgress, []error{raft.ErrLeadershipLost}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer clustertest.VerifyNoLeaks(t)
			record := clustertest.NewFatalRecord()
			probed := make(chan struct{})
			watch := &transferWatch{
				timeout: 20 * time.Millisecond,
				leads:   func() bool { return test.leads },
				probe:   func() error { close(probed); return test.probe },
				fatal:   record.Fatal,
			}
			watch.observe(raft.ErrLeadershipTransferInProgress)
			for _, outcome := range test.relief {
				watch.observe(outcome)
			}
			if test.want != nil {
				<-record.Ended
			} else if test.leads && test.relief == nil {
				<-probed
			}
			watch.close()
			if codes, _ := record.All(); !slices.Equal(codes, test.want) {
				t.Fatalf("exit codes %v, want %v", codes, test.want)
			}
		})
	}
}

func TestTranslateTellsNotProposedFromUnknown(t *testing.T) {
	tests := []struct{ err, want error }{
		{nil, nil},
		{raft.ErrNotLeader, fault.ErrNotLeader},
		{raft.ErrEnqueueTimeout, fault.ErrNotLeader},
		{raft.ErrLeadershipTransferInProgress, fault.ErrNotLeader},
		{raft.ErrLeadershipLost, fault.ErrOutcomeUnknown},
		{raft.ErrRaftShutdown, fault.ErrOutcomeUnknown},
		{raft.ErrAbortedByRestore, fault.ErrOutcomeUnknown},
		{errors.New("append to the log: no space left on device"), fault.ErrOutcomeUnknown},
	}
	for _, test := range tests {
		got := translate(test.err)
		if !errors.Is(got, test.want) || (test.want == nil) != (got == nil) {
			t.Errorf("%v became %v, want %v", test.err, got, test.want)
		}
		if errors.Is(got, fault.ErrNotLeader) && errors.Is(got, fault.ErrOutcomeUnknown) {
			t.Errorf("%v is both", got)
		}
	}
}

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
	defer clustertest.VerifyNoLeaks(t)
	watch := newLeadershipWatch("a-1", func() { t.Error("removed") })
	source := &changingLeader{}
	watch.source = source
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	done := make(chan struct{})
	go func() { defer close(done); watch.run(ctx) }()

	changed := watch.leadershipChanged()
	self := "a-1"
	source.term.Store(3)
	source.leader.Store(&self)
	source.state.Store(uint32(raft.Leader))
	// The library never waits for whoever handles them.
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
	changed = watch.leadershipChanged()
	other := "b-2"
	source.state.Store(uint32(raft.Follower))
	source.term.Store(4)
	source.leader.Store(&other)
	watch.observed <- raft.Observation{}
	<-changed
	if got := watch.leadership(); got != (Leadership{Term: 4, LeaderID: "b-2"}) {
		t.Errorf("got %+v", got)
	}
	if got := watch.leaderChanges(); got != 2 {
		t.Errorf("%d changes", got)
	}
	cancel()
	<-done
}
