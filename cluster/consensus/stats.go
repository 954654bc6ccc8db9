package consensus

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// Stats describes a Group at one moment.
type Stats struct {
	Role              string // "leader", "follower", "candidate", "learner", "waiting" (in no cluster yet), "down"
	Term              uint64
	LeaderID          string
	CommitIndex       uint64
	AppliedIndex      uint64
	LastIndex         uint64
	LastSnapshotIndex uint64
	Members           []Member
	LeaderChanges     uint64
	SnapshotsTaken    uint64
	SnapshotPause     time.Duration // longest capture of the state, during which no entry is applied
	ApplyLongest      time.Duration // longest time for one batch of entries
	SnapshotsRestored uint64        // at the start, or installed by the leader
	SnapshotBytesSent int64         // to other nodes
	// SnapshotSeconds and LogWriteSeconds are durations of writes.
	SnapshotSeconds, LogWriteSeconds *histogram.Histogram
}

// Stats describes the group for status and metrics.
func (g *Group) Stats() Stats {
	leadership := g.watches.leaders.leadership()
	stats := Stats{
		Term:              leadership.Term,
		LeaderID:          leadership.LeaderID,
		CommitIndex:       g.raft.CommitIndex(),
		AppliedIndex:      g.machine.applied.Load(),
		LastIndex:         g.raft.LastIndex(),
		LastSnapshotIndex: g.stores.snapshots.Newest().Index,
		LeaderChanges:     g.watches.leaders.leaderChanges(),
		SnapshotsTaken:    g.snapshotsTaken.Load(),
		SnapshotPause:     time.Duration(g.machine.paused.Load()),
		ApplyLongest:      time.Duration(g.machine.longest.Load()),
		SnapshotsRestored: g.machine.restored.Load(),
		SnapshotBytesSent: g.transport.snapshotBytes.Load(),
		SnapshotSeconds:   g.snapshotSeconds,
		LogWriteSeconds:   g.stores.log.Writes(),
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

func (g *Group) member(server raft.Server, stats Stats) Member {
	member := Member{
		NodeID:      string(server.ID),
		Name:        storage.NodeNameOf(string(server.ID)),
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
		if age, known := g.watches.contacts.last(member.NodeID); known && stats.LeaderID == g.options.NodeID {
			member.LastContact = age.Milliseconds()
		}
		if matched, known := g.watches.contacts.matched(member.NodeID, stats.Term); known && stats.LeaderID == g.options.NodeID {
			member.LagEntries = max(0, int64(stats.LastIndex)-int64(matched))
		}
	}
	return member
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

// Files returns the keys that the log and the snapshots of the group are encrypted with.
func (g *Group) Files() (files storage.Files, err error) {
	// The end is read first: entries appended meanwhile are encrypted.
	var failed [4]error
	files.LogEnds, failed[0] = g.stores.log.LastIndex()
	files.LogBegins, failed[1] = g.stores.log.FilesBegin()
	files.Log, failed[2] = g.stores.log.Keys()
	files.Snapshots, failed[3] = g.stores.snapshots.Keys()
	return files, errors.Join(failed[:]...)
}
