package consensus

import (
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
)

// Campaign sends this node the message with which a leader transfers leadership. It does nothing if
// this node is a candidate or leads: the library would let a leader step down to be elected again.
// Tested by exploit_timeout_now_test.go.
func (g *Group) Campaign() error {
	g.campaigning.Lock() // the library answers only once it is a candidate
	defer g.campaigning.Unlock()
	if g.raft.State() != raft.Follower {
		return nil
	}
	own := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.options.NodeID), Addr: []byte(g.options.NodeID)}
	return g.transport.TimeoutNow(raft.ServerID(g.options.NodeID), raft.ServerAddress(g.options.NodeID),
		&raft.TimeoutNowRequest{RPCHeader: own}, &raft.TimeoutNowResponse{})
}

// LastEntry returns the newest entry in the log, or zeros if that is unknown.
func (g *Group) LastEntry() (term, index uint64) {
	stats := g.raft.Stats()
	term, _ = strconv.ParseUint(stats["last_log_term"], 10, 64)
	index, _ = strconv.ParseUint(stats["last_log_index"], 10, 64)
	return term, index
}

// SinceContact returns the time since this node last heard from the leader.
func (g *Group) SinceContact() time.Duration {
	return environment.SinceContact(g.raft.LastContact())
}

// HeardVoters returns the voters that answered this leader within a heartbeat timeout.
func (g *Group) HeardVoters() []string {
	var heard []string
	for _, voter := range g.Voters() {
		if age, known := g.watches.contacts.last(voter); known && age <= g.options.Timing.Heartbeat {
			heard = append(heard, voter)
		}
	}
	return heard
}
