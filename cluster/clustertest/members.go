// Package clustertest holds the test kit for the packages below cluster. It imports none of the
// packages that it helps to test, except fault.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
)

// Group is the part of a consensus group that Members uses.
type Group interface {
	LeaderTerm() (term uint64, leads bool)
	LeadershipChanged() <-chan struct{}
	Barrier(ctx context.Context) error
	Propose(entry []byte) (wait func() (fsm.EntryResult, error), err error)
	WaitApplied(ctx context.Context, index uint64) error
}

// Member is one node of a group.
type Member interface {
	comparable
	Name() string
	// Running returns the open group and its state machine; ok is false while the node is stopped.
	Running() (group Group, machine *fsm.FSM, ok bool)
}

// Members is all nodes of one group, running or stopped.
type Members[M Member] struct {
	T   *testing.T
	All []M
}

// Leader waits until a running member leads and has applied all committed entries.
func (m *Members[M]) Leader() M {
	m.T.Helper()
	ctx := Context(m.T)
	for ctx.Err() == nil {
		for _, member := range m.All {
			if group, _, running := member.Running(); running {
				if _, leads := group.LeaderTerm(); leads && group.Barrier(ctx) == nil {
					return member
				}
			}
		}
		m.awaitLeadershipChange(ctx)
	}
	m.T.Fatal("no leader was elected")
	panic("unreachable")
}

// awaitLeadershipChange waits for a change of the leader, at most 50 ms.
func (m *Members[M]) awaitLeadershipChange(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for _, member := range m.All {
		if group, _, running := member.Running(); running {
			select {
			case <-group.LeadershipChanged():
			case <-ctx.Done():
			}
			return
		}
	}
}

// Followers returns the running members other than the leader.
func (m *Members[M]) Followers(leader M) []M {
	var followers []M
	for _, member := range m.All {
		if _, _, running := member.Running(); running && member != leader {
			followers = append(followers, member)
		}
	}
	return followers
}

// Propose proposes entries from and up to, but not including, to. It returns the index of the last.
func (m *Members[M]) Propose(from, to int) (last uint64) {
	m.T.Helper()
	for at := from; at < to; at++ {
		last = m.ProposeOne(Entry(m.T, at))
	}
	return last
}

// ProposeOne proposes an entry to the current leader and returns its index. The log may have it
// twice if the leader changes meanwhile.
func (m *Members[M]) ProposeOne(entry []byte) uint64 {
	m.T.Helper()
	for {
		group, _, _ := m.Leader().Running()
		wait, err := group.Propose(entry)
		var result fsm.EntryResult
		if err == nil {
			result, err = wait()
		}
		switch {
		case err == nil:
			return result.Index
		case !errors.Is(err, fault.ErrNotLeader) && !errors.Is(err, fault.ErrOutcomeUnknown):
			m.T.Fatal(err)
		}
	}
}

// Agree waits until the running ones of these members, or of all, have applied index, and compares
// their states.
func (m *Members[M]) Agree(index uint64, members ...M) {
	m.T.Helper()
	if len(members) == 0 {
		members = m.All
	}
	ctx := Context(m.T)
	var want string
	for _, member := range members {
		group, machine, running := member.Running()
		if !running {
			continue
		}
		if err := group.WaitApplied(ctx, index); err != nil {
			m.T.Fatalf("%s: entry %d is not applied: %v", member.Name(), index, err)
		}
		at, hash := machine.StateHash()
		got := fmt.Sprintf("%d %x", at, hash)
		if want == "" {
			want = got
		}
		if got != want {
			m.T.Errorf("%s has state %s, another %s", member.Name(), got, want)
		}
	}
}
