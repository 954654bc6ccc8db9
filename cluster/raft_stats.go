package cluster

import (
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// Stats describes the group for status and metrics.
func (g *raftGroup) Stats() GroupStats {
	leadership := g.leaders.leadership()
	stats := GroupStats{
		Term:              leadership.Term,
		LeaderID:          leadership.LeaderID,
		CommitIndex:       g.raft.CommitIndex(),
		AppliedIndex:      g.machine.applied.Load(),
		LastIndex:         g.raft.LastIndex(),
		LastSnapshotIndex: g.snapshots.NewestIndex(),
		LeaderChanges:     g.leaders.leaderChanges(),
		SnapshotsTaken:    g.snapshotsTaken.Load(),
		SnapshotPause:     time.Duration(g.machine.paused.Load()),
		SnapshotsRestored: g.machine.restored.Load(),
	}
	if g.appliedUpTo(stats.CommitIndex) {
		stats.AppliedIndex = stats.CommitIndex
	}
	voter := false
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		member := g.member(server, stats)
		stats.Members = append(stats.Members, member)
		voter = voter || member.NodeID == g.options.NodeID && member.Voter
	}
	stats.Role = role(g.raft.State(), voter)
	if len(stats.Members) == 0 {
		stats.Role = "waiting"
	}
	return stats
}

func (g *raftGroup) member(server raft.Server, stats GroupStats) Member {
	member := Member{
		NodeID:      string(server.ID),
		Name:        nodeNameOf(string(server.ID)),
		Voter:       server.Suffrage == raft.Voter,
		Leader:      string(server.ID) == stats.LeaderID,
		LastContact: -1,
		PeerAddr:    g.options.Address(string(server.ID)),
		LagEntries:  -1,
	}
	switch {
	case member.NodeID == g.options.NodeID:
		if member.Leader {
			member.LastContact, member.LagEntries = 0, 0
		}
	default:
		if age, lastLog, known := g.contacts.Last(member.NodeID); known && stats.LeaderID == g.options.NodeID {
			member.LastContact = age.Milliseconds()
			member.LagEntries = max(0, int64(stats.LastIndex)-int64(lastLog))
		}
	}
	return member
}

// nodeNameOf is the name a node id was made of.
func nodeNameOf(nodeID string) string {
	if i := strings.LastIndexByte(nodeID, '-'); i > 0 {
		return nodeID[:i]
	}
	return nodeID
}

func role(state raft.RaftState, voter bool) string {
	switch {
	case state == raft.Leader:
		return "leader"
	case state == raft.Candidate:
		return "candidate"
	case state == raft.Follower && voter:
		return "follower"
	case state == raft.Follower:
		return "learner"
	default:
		return "down"
	}
}
