package cluster

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/membership"
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
	// ClockOffMs is the difference between this node's clock and the median of a majority; 0
	// while that is within the bound or unknown.
	ClockOffMs int64            `json:"clockOffMs"`
	Findings   []health.Finding `json:"findings"` // of all checks that this node measures
	Warnings   []string         `json:"warnings"` // those that are not OK, for people
	Peers      []PeerStatus     `json:"peers"`
}

// PeerStatus describes another node as this one sees it.
type PeerStatus struct {
	NodeID        string `json:"nodeId"`
	Name          string `json:"name"`
	Address       string `json:"address"`
	Voter         bool   `json:"voter"`
	LagEntries    int64  `json:"lagEntries"`    // -1: unknown, as on followers
	LastContactMs int64  `json:"lastContactMs"` // -1: unknown
	// ClockAheadMs is its clock minus this node's; null: unknown.
	ClockAheadMs *int64 `json:"clockAheadMs"`
}

// Status describes the node at this moment.
func (n *Node) Status() Status {
	stats := n.group.Stats()
	position := n.replica.Position()
	findings := n.findings()
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
		Drained:           n.Drained(),
		ClockOffMs:        n.process.clocks.Off().Milliseconds(),
		Findings:          findings,
		Warnings:          health.Sentences(findings),
		Peers:             []PeerStatus{},
	}
	clocks := n.process.clocks.Skews()
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

// Leader returns the ids of this node and of the leader, which is empty if unknown.
func (n *Node) Leader() (self, leader string) {
	return n.process.nodeID, n.group.Leadership().LeaderID
}

// deliveriesLostFor is the time after a loss for which findings report it.
const deliveriesLostFor = time.Hour

// findings returns the measurements of this node.
func (n *Node) findings() []health.Finding {
	list := []health.Finding{n.readiness(), n.sends(), n.soundness()}
	add := func(check, of string, value float64, format string, args ...any) {
		list = append(list, health.Found(check, of, value, format, args...))
	}
	p := n.pressure
	if free, total := p.free.Load(), p.total.Load(); total > 0 {
		percent := 100 * float64(free) / float64(total)
		add(health.Disk, "", percent, "the disk with the data directory has %s of %s free (%.3g %%)", health.Bytes(free),
			health.Bytes(total), percent)
	}
	if most := p.limits.StateBytes; most > 0 {
		used := p.stateBytes.Load()
		add(health.Memory, "", 100*float64(used)/float64(most), "the state takes %s of memory, and its limit is %s (state-bytes-max)",
			health.Bytes(uint64(used)), health.Bytes(uint64(most))) //nolint:gosec // neither is below zero
	}
	clocks := n.process.clocks.Skews()
	for _, m := range n.group.Stats().Members {
		if ahead, known := clocks[m.NodeID]; known {
			add(health.Clock, m.Name, math.Abs(ahead.Seconds()), "the clock of %s is %v off that of this node", m.Name,
				ahead.Abs().Round(time.Millisecond))
		}
	}
	if secrets, sealed := n.secrets(); sealed {
		list = append(list, secrets)
	}
	if reason := n.reasonToResign(); reason != "" {
		add(health.Sends, "", 1, "this node should not lead: %s", reason)
	}
	now := n.cfg.Clock.Monotonic()
	n.counts.Lost.Read(func(topic, queue string, count uint64, last time.Duration) {
		if now-last < deliveriesLostFor {
			add(health.Deliveries, topic, float64(count), "the topic %s lost %d messages for the queue %s since this node started, "+
				"the last one %v ago",
				topic, count, queue, (now - last).Round(time.Second))
		}
	})
	if s := n.encryption.Load(); s != nil {
		if len(s.ClearText) > 0 {
			add(health.Encryption, "", 1, "still in clear text on the disk of this node: %s", strings.Join(s.ClearText, ", "))
		} else {
			add(health.Encryption, "", 0, "nothing is in clear text")
		}
	}
	if n.cfg.Measure != nil {
		list = append(list, n.cfg.Measure()...)
	}
	return list
}

// reasonToResign returns the reason why this node should not lead, empty if there is none.
func (n *Node) reasonToResign() string {
	if n.pressure.diskLevel() == membership.DiskFull {
		return "its disk is nearly full"
	}
	if off := n.process.clocks.Off(); off != 0 {
		return fmt.Sprintf("its clock is %v off the median of a majority (clock-skew-max)", off.Round(time.Millisecond))
	}
	return ""
}

// readiness returns the finding about Ready. For a node that is drained or was just added there is
// nothing to repair.
func (n *Node) readiness() health.Finding {
	err := n.Ready()
	switch {
	case err == nil:
		return health.Found(health.Members, "", 0, "is ready")
	case n.Drained(), n.process.bootstrap.Record().Joined && !n.votes():
		return health.Found(health.Members, "", 1, "is not ready: %v", err)
	}
	return health.Found(health.Members, "", 2, "is not ready: %v", err)
}

// votes reports whether this node is a voter.
func (n *Node) votes() bool {
	return slices.ContainsFunc(n.group.Stats().Members, func(m Member) bool { return m.Voter && m.NodeID == n.process.nodeID })
}

// sends returns the finding about refused sends.
func (n *Node) sends() health.Finding {
	_, reason := n.pressure.reason()
	if reason == "" && n.proposalsFull() {
		reason = "more requests wait to be written than may"
	}
	switch {
	case reason == "":
		return health.Found(health.Sends, "", 0, "takes sends")
	case n.leads():
		return health.Found(health.Sends, "", 2, "sends are refused: %s", reason)
	}
	return health.Found(health.Sends, "", 1, "this node would refuse sends if it led: %s", reason)
}

// proposalsFull reports whether this node leads and has no room for further requests.
func (n *Node) proposalsFull() bool {
	t := n.term.Load()
	if t == nil {
		return false
	}
	bytes, commands := t.Queued()
	bytesMax, commandsMax := n.cfg.Limits.leader().Room(false)
	return bytes >= bytesMax || commands >= commandsMax
}

// soundness returns the finding about divergence and damaged bodies.
func (n *Node) soundness() health.Finding {
	bodies, waiting := n.process.bodies.Stats(), len(n.process.bodies.Damaged())
	switch {
	case n.auditor.Split():
		return health.Found(health.Replicas, "", 2, "two replicas of the state differ and no majority says which is right")
	case waiting > 0:
		return health.Found(health.Replicas, "", 2, "%d bodies of messages are damaged on the disk of this node and not yet repaired",
			waiting)
	case bodies.Damaged > 0:
		return health.Found(health.Replicas, "", 1, "%d bodies of messages were found damaged on the disk of this node since it "+
			"started, and are repaired", bodies.Damaged)
	}
	return health.Found(health.Replicas, "", 0, "the replica is sound, as far as it was compared")
}

// Ready returns nil if the node can answer, else the reason why not. It must know a leader, and must
// have applied nearly all committed entries. After its start it must have caught up once with the
// commit index of a leader.
func (n *Node) Ready() error {
	if n.stages.closing.Err() != nil {
		return errors.New("this node is stopping")
	}
	if n.Drained() {
		return membership.ErrDrained
	}
	leader := n.group.Leadership()
	switch {
	case leader.LeaderID == "":
		if waitsFor := n.members.WaitsFor(); waitsFor != "" {
			return errors.New("this node belongs to no cluster yet: " + waitsFor)
		}
		return errors.New("no leader is known")
	case leader.Self && !n.leads():
		return errors.New("this node has just become the leader and is taking over")
	case n.replica.FormatVersion() == 0 && n.process.bootstrap.Record().Joined:
		return errors.New("this node waits for the state of its cluster")
	case n.replica.FormatVersion() == 0:
		return errors.New("the cluster is being set up")
	}
	stats := n.group.Stats()
	if stats.CommitIndex > stats.AppliedIndex+membership.LagMax {
		return fmt.Errorf("this node is catching up: %d entries to apply", stats.CommitIndex-stats.AppliedIndex)
	}
	if !n.caughtUp.Load() {
		return errors.New("this node is catching up with what was committed while it was away")
	}
	return nil
}

// catchUpAfterStart notes the end of the catch-up after the start. The history begins with it.
func (n *Node) catchUpAfterStart() {
	if n.CatchUpAfterStart() {
		n.caughtUp.Store(true)
		n.sample()
	}
}

// leads reports whether this node serves clients as the leader.
func (n *Node) leads() bool {
	t := n.term.Load()
	return t != nil && t.Serves()
}
