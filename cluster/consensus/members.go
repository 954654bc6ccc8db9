package consensus

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// committedMembers tracks the committed configuration of the group. The library reports its members
// but not the index of its entry, which compare-and-set needs. Safe for concurrent use.
type committedMembers struct {
	newest     atomic.Pointer[MemberSet]
	inSnapshot atomic.Pointer[snapshotMembers]
}

// snapshotMembers caches the configuration of the newest snapshot.
type snapshotMembers struct {
	snapshot uint64 // index of the snapshot
	set      MemberSet
}

// MemberSet is a configuration of a group.
type MemberSet struct {
	Index    uint64   // of its entry; 0: unknown
	Voters   []string // node ids
	Learners []string
}

// Contains reports whether a node is a member.
func (s MemberSet) Contains(nodeID string) bool {
	return slices.Contains(s.Voters, nodeID) || slices.Contains(s.Learners, nodeID)
}

func newMemberSet(index uint64, configuration raft.Configuration) MemberSet {
	set := MemberSet{Index: index}
	for _, server := range configuration.Servers {
		if server.Suffrage == raft.Voter {
			set.Voters = append(set.Voters, string(server.ID))
		} else {
			set.Learners = append(set.Learners, string(server.ID))
		}
	}
	return set
}

// note inspects committed entries for changes of the members.
func (c *committedMembers) note(entries []*raft.Log) {
	for _, entry := range entries {
		if entry.Type == raft.LogConfiguration {
			set := newMemberSet(entry.Index, raft.DecodeConfiguration(entry.Data))
			c.newest.Store(&set)
		}
	}
}

// CommittedMembers returns the newest committed configuration that this node knows, from the log or
// from the newest snapshot.
func (g *Group) CommittedMembers() (MemberSet, error) {
	set := MemberSet{}
	if noted := g.machine.members.newest.Load(); noted != nil {
		set = *noted
	}
	newest := g.stores.snapshots.Newest().Index
	known := g.machine.members.inSnapshot.Load()
	if newest != 0 && (known == nil || known.snapshot != newest) {
		snapshots, err := g.stores.snapshots.List()
		if err != nil {
			return MemberSet{}, err
		}
		known = &snapshotMembers{snapshot: newest}
		if len(snapshots) > 0 {
			known.set = newMemberSet(snapshots[0].ConfigurationIndex, snapshots[0].Configuration)
		}
		g.machine.members.inSnapshot.Store(known)
	}
	if known != nil && known.set.Index > set.Index {
		set = known.set
	}
	return set, nil
}

// Members returns the newest configuration in the log, committed or not, which counts for
// elections. Its Index is 0.
func (g *Group) Members() MemberSet {
	return newMemberSet(0, g.raft.GetConfiguration().Configuration())
}

// Voters returns the node ids of the voters in the newest configuration.
func (g *Group) Voters() []string { return g.Members().Voters }

// MemberChange is one step from a configuration to the next.
type MemberChange uint8

// The changes that ChangeMembers makes.
const (
	AddLearner   MemberChange = iota + 1 // a node without a vote
	MakeVoter                            // of a learner
	TakeVote                             // of a voter, which becomes a learner
	RemoveMember                         // of either kind
)

// ChangeMembers changes the configuration that the entry at index has set. If there is a newer
// configuration, it changes nothing. Index 0 stands for the newest.
func (g *Group) ChangeMembers(ctx context.Context, index uint64, change MemberChange, nodeID string) error {
	id, address := raft.ServerID(nodeID), raft.ServerAddress(nodeID)
	var future raft.IndexFuture
	switch change {
	case AddLearner:
		future = g.raft.AddNonvoter(id, address, index, g.options.Timing.Enqueue)
	case MakeVoter:
		future = g.raft.AddVoter(id, address, index, g.options.Timing.Enqueue)
	case TakeVote:
		future = g.raft.DemoteVoter(id, index, g.options.Timing.Enqueue)
	case RemoveMember:
		future = g.raft.RemoveServer(id, index, g.options.Timing.Enqueue)
	}
	if err := g.await(ctx, future); err != nil {
		return err
	}
	return g.WaitApplied(ctx, future.Index())
}

// TransferTo transfers leadership to a certain voter.
func (g *Group) TransferTo(ctx context.Context, nodeID string) error {
	return g.await(ctx, g.raft.LeadershipTransferToServer(raft.ServerID(nodeID), raft.ServerAddress(nodeID)))
}

// SinceHeard returns the time since a member last answered this leader; known is false if it never
// did.
func (g *Group) SinceHeard(nodeID string) (age time.Duration, known bool) {
	return g.watches.contacts.last(nodeID)
}

// IsMember reports whether a node is in the configuration. Only the leader answers, from committed
// entries: false is final unless an operator adds the node again.
func (g *Group) IsMember(ctx context.Context, nodeID string) (bool, error) {
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
	set, err := g.CommittedMembers()
	if err != nil {
		return false, err
	}
	return set.Contains(nodeID) || g.Members().Contains(nodeID) || set.Index == 0, nil
}

// Member is one node of the replicated configuration.
type Member struct {
	NodeID      string
	Name        string
	Voter       bool
	Leader      bool
	PeerAddr    string // resolved address; empty: unknown
	LastContact int64  // milliseconds since the member answered this leader; -1: unknown
	LagEntries  int64  // leader's last index minus the member's match index; -1: unknown
}
