package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/health/state"
	"github.com/seriatimq/seriatim/queue"
)

// MemberList is the membership of the cluster as its leader knows it. Its JSON
// form is a contract with other programs.
type MemberList struct {
	ClusterID string `json:"clusterId"`
	LeaderID  string `json:"leaderId"`
	// Index is that of the entry which set the members; a change may name it
	// to be made of exactly these members or not at all.
	Index uint64 `json:"index"`
	// Voters is the number of voters up to which learners are promoted automatically.
	Voters  int            `json:"voters"`
	Members []MemberStatus `json:"members"`
	// Waiting are live nodes that belong to no cluster yet.
	Waiting []WaitingNode `json:"waiting"`

	Summary  string           `json:"summary"`  // health in one sentence
	Healthy  bool             `json:"healthy"`  // there is a leader, all voters answer, and no check is critical
	MayFail  int              `json:"mayFail"`  // how many more voters may fail now
	Findings []health.Finding `json:"findings"` // of all checks, of all members that answer
	Warnings []string         `json:"warnings"` // those that are not OK, for people, the worst first
}

// MemberStatus is one member as the leader sees it.
type MemberStatus struct {
	NodeID  string `json:"nodeId"`
	Name    string `json:"name"`
	Role    string `json:"role"`    // leader, voter or learner
	Healthy bool   `json:"healthy"` // it answers the leader
	Drained bool   `json:"drained"` // see Drain
	Address string `json:"address"`
	// Admin is the URL of its admin port, as it told when it was asked.
	Admin   string `json:"admin,omitempty"`
	Version string `json:"version,omitempty"`
	// LagEntries is how far its log is behind the leader's; -1: unknown.
	LagEntries int64 `json:"lagEntries"`
	// LastContactMs is how long ago the leader heard of it; -1: never.
	LastContactMs int64 `json:"lastContactMs"`
	// Asked says that it answered what it measures: what the findings lack of a member that
	// was not asked is unknown.
	Asked bool `json:"asked"`
	// Encryption says what its files are encrypted with; missing: it did not tell.
	Encryption *EncryptionStatus `json:"encryption,omitempty"`
	// Note says what keeps a learner from being promoted, or how a member fails
	// to answer.
	Note string `json:"note,omitempty"`
}

// Roles of a MemberStatus.
const (
	roleLeader  = "leader"
	roleVoter   = "voter"
	roleLearner = "learner"
)

// WaitingNode is a node that gossip knows and that could be added.
type WaitingNode struct {
	NodeID  string `json:"nodeId"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// RefusalKind sorts the reasons for which a change of the members is refused.
type RefusalKind string

// Kinds of refusals.
const (
	RefusedUnknownNode RefusalKind = "unknown-node" // no such member or node
	RefusedUnsafe      RefusalKind = "unsafe"       // it would endanger the quorum or skip a step
	RefusedBusy        RefusalKind = "busy"         // another change is under way, or came before
	RefusedPolicy      RefusalKind = "policy"       // the settings forbid it
)

// MembershipRefusal is why a change of the members was not made. Nothing has
// changed.
type MembershipRefusal struct {
	Kind RefusalKind
	Text string
	Hint string // what to do instead; may be empty
}

// Error is the text without the hint.
func (r *MembershipRefusal) Error() string { return r.Text }

func refused(kind RefusalKind, hint, format string, args ...any) *MembershipRefusal {
	return &MembershipRefusal{Kind: kind, Text: fmt.Sprintf(format, args...), Hint: hint}
}

// Change names a member, by node id or by a name that only one node has, and
// optionally the index of the MemberList it was chosen from.
type Change struct {
	Node    string `json:"node"`
	IfIndex uint64 `json:"ifIndex,omitempty"`
}

// Members asks the leader for the membership. The leader probes every member first.
func (n *Node) Members(ctx context.Context) (MemberList, error) {
	if waitsFor := n.waitsFor(); waitsFor != "" && n.group.Leadership().LeaderID == "" {
		return MemberList{}, fmt.Errorf("%w: %s", ErrUnavailable, waitsFor)
	}
	answer, err := n.changeAtLeader(ctx, membershipRequest{Op: opMembers})
	if err != nil {
		return MemberList{}, err
	}
	list := *answer.Members
	n.measureState(&list, "")
	return list, nil
}

// LocalMembers is the membership as far as this node knows it, for when there is no
// leader to ask. It probes every member itself.
func (n *Node) LocalMembers(ctx context.Context) MemberList {
	list := n.memberList()
	n.probe(ctx, &list)
	n.measureState(&list, n.waitsFor())
	return list
}

// measureState adds what every node can measure, because all have the same state.
func (n *Node) measureState(list *MemberList, waitsFor string) {
	list.Findings = append(list.Findings, state.Findings(func(read func(queue.View)) { n.replica.Read(read) }, n.cfg.Clock.Wall())...)
	switch u := n.Upgrade(); {
	case u.FormatVersion == 0:
	case u.Newest > u.FormatVersion && u.Missing != "":
		list.found("", health.Found(health.Upgrade, "", 1, "the upgrade to format version %d is not finalized: %s", u.Newest, u.Missing))
	case u.Ready:
		list.found("", health.Found(health.Upgrade, "", 1, "the upgrade to format version %d is not finalized: seriatim upgrade finalize does it", u.Possible))
	default:
		list.found("", health.Found(health.Upgrade, "", 0, "format version %d is in force", u.FormatVersion))
	}
	list.assess(waitsFor)
}

// AddMember makes a waiting node a learner: it gets all data and has no vote.
func (n *Node) AddMember(ctx context.Context, change Change) error {
	return n.change(ctx, opAdd, change)
}

// RemoveMember removes a member for good. A leader hands leadership over first. The
// process of a removed node ends; its data directory can be deleted.
func (n *Node) RemoveMember(ctx context.Context, change Change) error {
	return n.change(ctx, opRemove, change)
}

// PromoteMember gives a learner that keeps up its vote.
func (n *Node) PromoteMember(ctx context.Context, change Change) error {
	return n.change(ctx, opPromote, change)
}

// ReplaceMember removes the lost voter of a name and gives its vote to the
// learner that came back under the same name.
func (n *Node) ReplaceMember(ctx context.Context, change Change) error {
	return n.change(ctx, opReplace, change)
}

// MoveLeadership hands leadership to a voter, or to any if Node is empty.
func (n *Node) MoveLeadership(ctx context.Context, change Change) error {
	return n.change(ctx, opTransfer, change)
}

func (n *Node) change(ctx context.Context, op string, change Change) error {
	_, err := n.changeAtLeader(ctx, membershipRequest{Op: op, Node: change.Node, IfIndex: change.IfIndex})
	return err
}

// memberList describes the members, with what only the leader knows if this
// node leads.
func (n *Node) memberList() MemberList {
	stats := n.group.Stats()
	set, err := n.group.CommittedMembers()
	if err != nil {
		n.log.Warn("the index of the members is unknown", "error", err)
	}
	list := MemberList{
		ClusterID: n.process.clusterID(),
		LeaderID:  stats.LeaderID,
		Index:     set.Index,
		Voters:    n.votersWanted(),
		Members:   []MemberStatus{},
		Waiting:   []WaitingNode{},
		Findings:  []health.Finding{},
	}
	view, members := n.process.gossip.View(), map[string]bool{}
	heard := map[string]discovery.Member{n.process.nodeID: {Alive: true, Version: n.cfg.Version}}
	for _, seen := range view {
		heard[seen.NodeID] = seen
	}
	for _, m := range stats.Members {
		members[m.NodeID] = true
		// Index and members belong together: what is not committed yet is
		// not part of them.
		if set.Index != 0 && !set.Contains(m.NodeID) {
			continue
		}
		m.Voter = m.Voter && (set.Index == 0 || slices.Contains(set.Voters, m.NodeID))
		s := n.memberStatus(m, heard[m.NodeID].Version)
		if list.LeaderID != n.process.nodeID {
			s.Healthy = heard[m.NodeID].Alive // a follower knows no better
		}
		list.Members = append(list.Members, s)
	}
	slices.SortStableFunc(list.Members, func(a, b MemberStatus) int { return strings.Compare(a.Name, b.Name) })
	for _, seen := range view {
		// A node of this cluster that is no member was removed, unless it is about
		// to join.
		if seen.Alive && !members[seen.NodeID] && (seen.ClusterID == "" || seen.ClusterID == list.ClusterID && seen.Joining) {
			list.Waiting = append(list.Waiting, WaitingNode{NodeID: seen.NodeID, Name: seen.Name, Address: seen.Peer})
		}
	}
	return list
}

func (n *Node) memberStatus(m Member, version string) MemberStatus {
	s := MemberStatus{
		NodeID: m.NodeID, Name: m.Name, Role: roleLearner, Address: m.PeerAddr, Version: version,
		LagEntries: m.LagEntries, LastContactMs: m.LastContact,
		Healthy: m.NodeID == n.process.nodeID || m.LastContact >= 0 && time.Duration(m.LastContact)*time.Millisecond <= n.silenceMax(),
	}
	switch {
	case m.Leader:
		s.Role = roleLeader
	case m.Voter:
		s.Role = roleVoter
	}
	return s
}

// silenceMax is how long a member may be silent and still count as healthy. A leader
// sends to each about every tenth of the heartbeat timeout; the rest is for slow
// disks, which delay answers to heartbeats.
func (n *Node) silenceMax() time.Duration { return 4 * n.cfg.Timing.Heartbeat }

// votersWanted is the number of voters up to which learners are promoted automatically.
func (n *Node) votersWanted() int {
	if n.cfg.Members.Voters > 0 {
		return n.cfg.Members.Voters
	}
	return max(n.cfg.BootstrapExpect, len(n.process.bootstrap.membership().InitialMembers))
}

// memberControl is the state of membership changes and of draining.
type memberControl struct {
	// changing is held while the members are changed, one change at a time. A
	// channel of capacity one, because a caller may give up waiting.
	changing      chan struct{}
	joinWaits     atomic.Pointer[string] // why this node has not joined yet
	leadsSince    atomic.Int64           // when this node last began to lead, monotonic
	drained       atomic.Bool
	drainResigned atomic.Int64 // when this node, drained, last handed leadership over, monotonic
}
