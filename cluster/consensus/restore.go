package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// ErrVotesMissing: after a restore a member lacks its vote. The restore itself may have succeeded;
// seriatim cluster promote returns the vote.
var ErrVotesMissing = errors.New("the restore removed votes of members that could not be returned")

// Restore makes content, a snapshot of size bytes, the state of all members, at an index above the
// given one and above the log. Only the leader can, and all its proposals must be answered. Restore
// closes content.
//
// The library's leader adopts the state before a majority has it. While the followers install the
// snapshot, none of them answers, so the leader steps down, and the others could elect one without
// that state. So during a restore the leader is the only voter, and there is one history, its own,
// whenever the restore is interrupted.
func (g *Group) Restore(ctx context.Context, index uint64, content io.ReadCloser, size int64) error {
	others := g.otherVoters()
	err := g.demote(ctx, others)
	if err != nil {
		err = errors.Join(err, content.Close())
	} else {
		err = g.restore(ctx, index, content, size)
	}
	if missing := g.promote(ctx, others); missing != nil {
		err = errors.Join(err, fmt.Errorf("%w: %w", ErrVotesMissing, missing))
	}
	return err
}

func (g *Group) otherVoters() []raft.Server {
	var others []raft.Server
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter && string(server.ID) != g.options.NodeID {
			others = append(others, server)
		}
	}
	return others
}

// demote makes the other voters learners.
func (g *Group) demote(ctx context.Context, others []raft.Server) error {
	for _, server := range others {
		if err := g.ChangeMembers(ctx, 0, TakeVote, string(server.ID)); err != nil {
			return fmt.Errorf("taking the vote of node %s: %w", server.ID, err)
		}
	}
	return nil
}

func (g *Group) restore(ctx context.Context, index uint64, content io.ReadCloser, size int64) error {
	meta := &raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Index: index, Size: size}
	// Without the library's timeout, which could end in the middle.
	outcome := make(chan error, 1) // buffered, because the caller may be gone
	go func() { outcome <- errors.Join(g.raft.Restore(meta, content, 0), content.Close()) }()
	select {
	case err := <-outcome:
		if err != nil {
			return translate(err)
		}
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", fault.ErrOutcomeUnknown, ctx.Err())
	case <-g.ctx.Done():
		return fmt.Errorf("%w: the group is closed", fault.ErrOutcomeUnknown)
	}
	g.stores.log.SnapshotTaken(g.stores.log.Appended(), g.stores.log.Deleted(), g.snapshotDue())
	return nil
}

// Bounds for a member to install the restored state, and the interval of checking that.
const (
	installTimeout = 10 * time.Minute
	installPause   = 20 * time.Millisecond
)

// errLeadershipLost: another node leads now.
var errLeadershipLost = errors.New("this node no longer leads")

// promote makes each member a voter again as soon as it has the whole log.
func (g *Group) promote(ctx context.Context, others []raft.Server) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	for _, server := range others {
		err := g.awaitMember(ctx, server.ID)
		if err == nil {
			err = g.raft.AddVoter(server.ID, server.Address, 0, g.options.Timing.Enqueue).Error()
		}
		if err != nil {
			return fmt.Errorf("node %s, return it with seriatim cluster promote: %w", server.ID, err)
		}
	}
	return nil
}

// awaitMember waits until a member has confirmed the newest entry.
func (g *Group) awaitMember(ctx context.Context, id raft.ServerID) error {
	for {
		stats := g.Stats()
		if stats.LeaderID != g.options.NodeID {
			return errLeadershipLost
		}
		for _, member := range stats.Members {
			if member.NodeID == string(id) && member.LagEntries == 0 {
				return nil
			}
		}
		pause := time.NewTimer(installPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("it has not installed the state: %w", ctx.Err())
		case <-g.ctx.Done():
			pause.Stop()
			return peernet.ErrClosed
		}
	}
}
