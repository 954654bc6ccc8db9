package cluster

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/election"
	"github.com/seriatimq/seriatim/cluster/environment"
)

// electionView is what the failure detector reads and does of the group.
func (g *raftGroup) electionView() election.Consensus {
	return election.Consensus{
		Leadership:   func() election.Leadership { return election.Leadership(g.leaders.leadership()) },
		LastEntry:    g.lastEntry,
		SinceContact: func() time.Duration { return environment.SinceContact(g.raft.LastContact()) },
		Voters:       g.voters,
		HeardVoters:  g.heardVoters,
		Campaign:     g.campaign,
		MayLead:      g.mayLead,
		Transfer: func(ctx context.Context, nodeID string) error {
			ctx, cancel := context.WithTimeout(ctx, transferTimeout)
			defer cancel()
			return g.transferTo(ctx, nodeID)
		},
	}
}

// campaign tells this node what a leader tells the node it hands over to. What this
// relies on in the library is tested by exploit_timeout_now_test.go.
func (g *raftGroup) campaign() error {
	own := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.nodeID), Addr: []byte(g.nodeID)}
	return g.transport.TimeoutNow(raft.ServerID(g.nodeID), raft.ServerAddress(g.nodeID),
		&raft.TimeoutNowRequest{RPCHeader: own}, &raft.TimeoutNowResponse{})
}

// lastEntry is the newest entry in the log. What cannot be read is zero, and this
// node then not the one to campaign.
func (g *raftGroup) lastEntry() (last election.LogPosition) {
	stats := g.raft.Stats()
	last.Term, _ = strconv.ParseUint(stats["last_log_term"], 10, 64)
	last.Index, _ = strconv.ParseUint(stats["last_log_index"], 10, 64)
	return last
}

// heardVoters are the voters that answered this leader within a heartbeat timeout.
func (g *raftGroup) heardVoters() []string {
	var heard []string
	for _, voter := range g.voters() {
		if age, _, known := g.contacts.Last(voter); known && age <= g.cfg.Timing.Heartbeat {
			heard = append(heard, voter)
		}
	}
	return heard
}

// mayLead reports whether gossip tells nothing against a voter as leader.
func (g *raftGroup) mayLead(nodeID string) bool {
	return slices.ContainsFunc(g.gossip.View(), func(m discovery.Member) bool {
		return m.NodeID == nodeID && !m.Drained && g.flawOf(m) == ""
	})
}
