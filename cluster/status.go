package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
)

// Status describes a node at one moment. Its JSON form is a contract with
// other programs.
type Status struct {
	NodeID            string `json:"nodeId"`
	NodeName          string `json:"nodeName"`
	ClusterID         string `json:"clusterId"`
	Role              string `json:"role"`
	Term              uint64 `json:"term"`
	LeaderID          string `json:"leaderId"`
	LeaderName        string `json:"leaderName"`
	CommitIndex       uint64 `json:"commitIndex"`
	AppliedIndex      uint64 `json:"appliedIndex"`
	LastSnapshotIndex uint64 `json:"lastSnapshotIndex"`
	LogTimeMs         int64  `json:"logTimeMs"`
	StateHash         string `json:"stateHash"` // of the state at AppliedIndex, hex
	Version           string `json:"version"`
	Drained           bool   `json:"drained"` // see Drain
	// ClockOffMs is how far this node's clock is from the median of a
	// majority; 0 while that is within the bound or unknown.
	ClockOffMs int64        `json:"clockOffMs"`
	Warnings   []string     `json:"warnings"` // what is wrong, for people
	Peers      []PeerStatus `json:"peers"`
}

// PeerStatus describes another node as this one sees it.
type PeerStatus struct {
	NodeID        string `json:"nodeId"`
	Name          string `json:"name"`
	Address       string `json:"address"`
	Voter         bool   `json:"voter"`
	LagEntries    int64  `json:"lagEntries"`    // -1: unknown, as on followers
	LastContactMs int64  `json:"lastContactMs"` // -1: unknown
	// ClockAheadMs is how far its clock is ahead of this node's; null: unknown.
	ClockAheadMs *int64 `json:"clockAheadMs"`
}

// Status describes the node.
func (n *Node) Status() Status {
	stats := n.group.Stats()
	position := n.replica.Position()
	s := Status{
		NodeID:            n.process.nodeID,
		NodeName:          n.cfg.NodeName,
		ClusterID:         n.process.clusterID(),
		Role:              stats.Role,
		Term:              stats.Term,
		LeaderID:          stats.LeaderID,
		CommitIndex:       stats.CommitIndex,
		AppliedIndex:      position.Index,
		LastSnapshotIndex: stats.LastSnapshotIndex,
		LogTimeMs:         int64(position.At),
		StateHash:         hex.EncodeToString(position.StateHash[:]),
		Version:           n.cfg.Version,
		Drained:           n.drained.Load(),
		ClockOffMs:        n.process.clocks.Off().Milliseconds(),
		Warnings:          n.warnings(),
		Peers:             []PeerStatus{},
	}
	clocks := n.process.clocks.Ahead()
	for _, m := range stats.Members {
		if m.NodeID == stats.LeaderID {
			s.LeaderName = m.Name
		}
		if m.NodeID == n.process.nodeID {
			continue
		}
		var ahead *int64
		if d, known := clocks[m.NodeID]; known {
			ms := d.Milliseconds()
			ahead = &ms
		}
		s.Peers = append(s.Peers, PeerStatus{
			ClockAheadMs:  ahead,
			NodeID:        m.NodeID,
			Name:          m.Name,
			Address:       m.PeerAddr,
			Voter:         m.Voter,
			LagEntries:    m.LagEntries,
			LastContactMs: m.LastContact,
		})
	}
	return s
}

// Leader is the id of this node and that of the leader as far as this node knows,
// empty if it knows none.
func (n *Node) Leader() (self, leader string) {
	return n.process.nodeID, n.group.Leadership().LeaderID
}

// warnings are the conditions that need an operator.
func (n *Node) warnings() []string {
	warnings := []string{}
	if waitsFor := n.waitsFor(); waitsFor != "" {
		warnings = append(warnings, "this node belongs to no cluster yet: "+waitsFor)
	}
	if _, reason := n.pressure.reason(); reason != "" {
		warnings = append(warnings, "sends are refused while this node leads: "+reason)
	}
	if reason := n.reasonToResign(); reason != "" {
		warnings = append(warnings, "this node should not lead: "+reason)
	}
	return warnings
}

// readyLagMax is how many entries a node may be behind the commit index it knows and
// still be ready: it applies them in a moment.
const readyLagMax = 1024

// Ready is nil if the node can answer: a leader is known, this node has applied
// nearly all that is committed, and it did so once with what a leader told it after
// its start. Else it says what is missing.
func (n *Node) Ready() error {
	if n.closing.Err() != nil {
		return errors.New("this node is stopping")
	}
	if n.drained.Load() {
		return errDrained
	}
	leader := n.group.Leadership()
	switch {
	case leader.LeaderID == "":
		if waitsFor := n.waitsFor(); waitsFor != "" {
			return errors.New("this node belongs to no cluster yet: " + waitsFor)
		}
		return errors.New("no leader is known")
	case leader.Self && !n.leads():
		return errors.New("this node has just become the leader and is taking over")
	case n.replica.FormatVersion() == 0 && n.process.bootstrap.membership().Joined:
		return errors.New("this node has yet to be sent the state of its cluster")
	case n.replica.FormatVersion() == 0:
		return errors.New("the cluster is being set up")
	}
	stats := n.group.Stats()
	if stats.CommitIndex > stats.AppliedIndex+readyLagMax {
		return fmt.Errorf("this node is catching up: %d entries to apply", stats.CommitIndex-stats.AppliedIndex)
	}
	if !n.caughtUp.Load() {
		return errors.New("this node is catching up with what was committed while it was away")
	}
	return nil
}

// catchUpAfterStart asks a leader what is committed and waits until that is applied here.
// The commit index that a node knows at first is that of its own log and of messages that
// were on their way to it since before it stopped: by these it lacks nothing, while it may
// have to be sent a whole snapshot, and whoever restarts one node after the other would take
// the next one.
func (n *Node) catchUpAfterStart() {
	for n.closing.Err() == nil {
		change := n.leaderMayChange()
		if n.group.Leadership().LeaderID == "" {
			select {
			case <-n.closing.Done():
			case <-change.leadership:
			}
			continue
		}
		ctx, cancel := context.WithTimeout(n.closing, n.cfg.Limits.Timeout)
		_, err := n.readBarrier(ctx)
		cancel()
		if err == nil {
			n.caughtUp.Store(true)
			return
		}
		n.pause(n.closing, change, retryPauseMax)
	}
}

// leads reports whether this node serves clients as the leader.
func (n *Node) leads() bool {
	t := n.term.Load()
	return t != nil && t.Serves()
}
