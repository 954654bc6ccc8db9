package consensus

import (
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
)

// Campaign tells this node what a leader tells the node it hands over to. It does nothing
// while this node stands for election or leads: the library would let a leader step down
// to be elected again. What this relies on in the library is tested by
// exploit_timeout_now_test.go.
func (g *Group) Campaign() error {
	g.campaigning.Lock() // the library answers as a candidate
	defer g.campaigning.Unlock()
	if g.raft.State() != raft.Follower {
		return nil
	}
	own := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.options.NodeID), Addr: []byte(g.options.NodeID)}
	return g.transport.TimeoutNow(raft.ServerID(g.options.NodeID), raft.ServerAddress(g.options.NodeID),
		&raft.TimeoutNowRequest{RPCHeader: own}, &raft.TimeoutNowResponse{})
}

// LastEntry is the newest entry in the log. What cannot be read is zero, and this
// node then not the one to campaign.
func (g *Group) LastEntry() (term, index uint64) {
	stats := g.raft.Stats()
	term, _ = strconv.ParseUint(stats["last_log_term"], 10, 64)
	index, _ = strconv.ParseUint(stats["last_log_index"], 10, 64)
	return term, index
}

// SinceContact is how long ago this node heard from the leader.
func (g *Group) SinceContact() time.Duration {
	return environment.SinceContact(g.raft.LastContact())
}

// HeardVoters are the voters that answered this leader within a heartbeat timeout.
func (g *Group) HeardVoters() []string {
	var heard []string
	for _, voter := range g.Voters() {
		if age, known := g.contacts.last(voter); known && age <= g.options.Timing.Heartbeat {
			heard = append(heard, voter)
		}
	}
	return heard
}
