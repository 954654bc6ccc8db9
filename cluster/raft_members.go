package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// committedMembers follows the committed configuration of the group. The
// library tells its members, but not the index of the entry that set them, and
// without the index there is no compare-and-set. Safe for concurrent use.
type committedMembers struct {
	newest     atomic.Pointer[memberSet]
	inSnapshot atomic.Pointer[snapshotMembers]
}

// snapshotMembers is the configuration in the newest snapshot, whose
// description is on disk and need be read only once.
type snapshotMembers struct {
	snapshot uint64 // index of the snapshot
	set      memberSet
}

// memberSet is the configuration that the entry at an index has set.
type memberSet struct {
	index  uint64
	voters []string // node ids
	others []string // learners
}

func newMemberSet(index uint64, configuration raft.Configuration) memberSet {
	set := memberSet{index: index}
	for _, server := range configuration.Servers {
		if server.Suffrage == raft.Voter {
			set.voters = append(set.voters, string(server.ID))
		} else {
			set.others = append(set.others, string(server.ID))
		}
	}
	return set
}

func (s memberSet) contains(nodeID string) bool {
	return slices.Contains(s.voters, nodeID) || slices.Contains(s.others, nodeID)
}

// note takes in committed entries, of which few change the members.
func (c *committedMembers) note(entries []*raft.Log) {
	for _, entry := range entries {
		if entry.Type == raft.LogConfiguration {
			set := newMemberSet(entry.Index, raft.DecodeConfiguration(entry.Data))
			c.newest.Store(&set)
		}
	}
}

// memberSet is the newest committed configuration this node knows. One that
// came with a snapshot is found in the snapshot's description.
func (g *raftGroup) memberSet() (memberSet, error) {
	set := memberSet{}
	if noted := g.machine.members.newest.Load(); noted != nil {
		set = *noted
	}
	newest := g.snapshots.NewestIndex()
	known := g.machine.members.inSnapshot.Load()
	if newest != 0 && (known == nil || known.snapshot != newest) {
		snapshots, err := g.snapshots.List()
		if err != nil {
			return memberSet{}, err
		}
		known = &snapshotMembers{snapshot: newest}
		if len(snapshots) > 0 {
			known.set = newMemberSet(snapshots[0].ConfigurationIndex, snapshots[0].Configuration)
		}
		g.machine.members.inSnapshot.Store(known)
	}
	if known != nil && known.set.index > set.index {
		set = known.set
	}
	return set, nil
}

// hasLearners reports whether some member has no vote.
func (g *raftGroup) hasLearners() bool {
	return slices.ContainsFunc(g.raft.GetConfiguration().Configuration().Servers, func(s raft.Server) bool { return s.Suffrage != raft.Voter })
}

// memberChange is one step from a configuration to the next.
type memberChange uint8

const (
	addLearner memberChange = iota + 1
	makeVoter
	removeMember
)

// changeMembers makes one change of the configuration that the entry at index
// has set, and of no other: if it is not the newest any more nothing happens.
func (g *raftGroup) changeMembers(ctx context.Context, index uint64, change memberChange, nodeID string) error {
	id, address := raft.ServerID(nodeID), raft.ServerAddress(nodeID)
	var future raft.IndexFuture
	switch change {
	case addLearner:
		future = g.raft.AddNonvoter(id, address, index, g.options.Timing.Enqueue)
	case makeVoter:
		future = g.raft.AddVoter(id, address, index, g.options.Timing.Enqueue)
	case removeMember:
		future = g.raft.RemoveServer(id, index, g.options.Timing.Enqueue)
	}
	if err := g.await(ctx, future); err != nil {
		return err
	}
	return g.WaitApplied(ctx, future.Index())
}

// transferTo hands leadership to a voter of the operator's choice.
func (g *raftGroup) transferTo(ctx context.Context, nodeID string) error {
	return g.await(ctx, g.raft.LeadershipTransferToServer(raft.ServerID(nodeID), raft.ServerAddress(nodeID)))
}

// isMember reports whether NodeID is part of the configuration. It answers only
// on the node that leads, and only what is committed: from false there is no way
// back, as nobody but an operator adds a node again.
func (g *raftGroup) isMember(ctx context.Context, nodeID string) (bool, error) {
	term, leads := g.LeaderTerm()
	if !leads {
		return false, fault.ErrNotLeader
	}
	index := g.CommitIndex()
	if err := g.ConfirmLeadership(ctx, term); err != nil {
		return false, fmt.Errorf("proving that this node leads: %w", err)
	}
	if err := g.WaitApplied(ctx, index); err != nil {
		return false, err
	}
	set, err := g.memberSet()
	if err != nil {
		return false, err
	}
	latest := newMemberSet(0, g.raft.GetConfiguration().Configuration())
	return set.contains(nodeID) || latest.contains(nodeID) || set.index == 0, nil
}
