package membership

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/health/state"
	"github.com/seriatimq/seriatim/queue"
)

// MemberList is the membership of the cluster as its leader knows it. Its JSON
// form is a contract with other programs.
type MemberList struct {
	ClusterID string `json:"clusterId"`
	LeaderID  string `json:"leaderId"`
	// Index is that of the log entry with the members. A change that names it is made of
	// exactly these members or not at all.
	Index uint64 `json:"index"`
	// Voters is the number of voters up to which learners are promoted automatically.
	Voters  int            `json:"voters"`
	Members []MemberStatus `json:"members"`
	// Waiting lists live nodes that belong to no cluster yet.
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
	// Admin is the URL of its admin port, from its answer to a probe.
	Admin   string `json:"admin,omitempty"`
	Version string `json:"version,omitempty"`
	// LagEntries is the number of entries that its log lacks; -1: unknown.
	LagEntries int64 `json:"lagEntries"`
	// LastContactMs is the time since its last message to the leader; -1: none.
	LastContactMs int64 `json:"lastContactMs"`
	// Asked is true if the member returned its measurements. Otherwise findings of it are
	// unknown.
	Asked bool `json:"asked"`
	// Encryption describes the keys of its files; missing: unknown.
	Encryption *EncryptionStatus `json:"encryption,omitempty"`
	// Note is the reason why a learner is not promoted, or why a member counts as unhealthy.
	Note string `json:"note,omitempty"`
}

// Roles of a MemberStatus.
const (
	RoleLeader  = "leader"
	RoleVoter   = "voter"
	RoleLearner = "learner"
)

// EncryptionStatus describes the encryption of the files of a node.
type EncryptionStatus struct {
	Keys []KeyStatus `json:"keys"`
	// ClearText lists the files that are still in clear text.
	ClearText []string `json:"clearText"`
}

// KeyStatus describes the use of one key by a node.
type KeyStatus struct {
	ID       string   `json:"id"`
	Encrypts bool     `json:"encrypts"` // new data
	InFile   bool     `json:"inFile"`   // the key file of the node has it
	Needed   bool     `json:"needed"`   // false: you can remove it from the key file of this node
	For      []string `json:"for"`      // the data that it encrypts
}

// WaitingNode is a node that gossip knows and that could be added.
type WaitingNode struct {
	NodeID  string `json:"nodeId"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// RefusalKind classifies the reasons to refuse a change of the members.
type RefusalKind string

// Kinds of refusals.
const (
	RefusedUnknownNode RefusalKind = "unknown-node" // no such member or node
	RefusedUnsafe      RefusalKind = "unsafe"       // it would endanger the quorum or skip a step
	RefusedBusy        RefusalKind = "busy"         // another change is in progress, or came before
	RefusedPolicy      RefusalKind = "policy"       // the settings forbid it
)

// MembershipRefusal is the reason why a change of the members was not made. Nothing has
// changed.
type MembershipRefusal struct {
	Kind RefusalKind
	Text string
	Hint string // for the operator; may be empty
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
func (c *Coordinator) Members(ctx context.Context) (MemberList, error) {
	if waitsFor := c.WaitsFor(); waitsFor != "" && c.node.Group.Leadership().LeaderID == "" {
		return MemberList{}, fmt.Errorf("%w: %s", fault.ErrUnavailable, waitsFor)
	}
	answer, err := c.changeAtLeader(ctx, Request{Op: OpMembers})
	if err != nil {
		return MemberList{}, err
	}
	list := *answer.Members
	c.measureState(&list, "")
	return list, nil
}

// LocalMembers returns the membership as far as this node knows it, for a cluster without a
// leader. The node probes every member itself.
func (c *Coordinator) LocalMembers(ctx context.Context) MemberList {
	list := c.memberList()
	c.probe(ctx, &list)
	c.measureState(&list, c.WaitsFor())
	return list
}

// measureState adds the checks of the state, which is the same on every node.
func (c *Coordinator) measureState(list *MemberList, waitsFor string) {
	list.Findings = append(list.Findings, state.Findings(func(read func(queue.View)) { c.node.Replica.Read(read) }, c.node.Clock.Wall())...)
	switch u := c.Upgrade(); {
	case u.FormatVersion == 0:
	case u.Newest > u.FormatVersion && u.Missing != "":
		list.found("", health.Found(health.Upgrade, "", 1, "the upgrade to format version %d is not finalized: %s", u.Newest, u.Missing))
	case u.Ready:
		list.found("", health.Found(health.Upgrade, "", 1, "the upgrade to format version %d is not finalized: seriatim upgrade "+
			"finalize does it", u.Possible))
	default:
		list.found("", health.Found(health.Upgrade, "", 0, "format version %d is in force", u.FormatVersion))
	}
	list.assess(waitsFor)
}

// AddMember makes a waiting node a learner: it gets all data and has no vote.
func (c *Coordinator) AddMember(ctx context.Context, change Change) error {
	return c.change(ctx, OpAdd, change)
}

// RemoveMember removes a member for good. A leader hands leadership over first. The
// process of a removed node ends; its data directory can be deleted.
func (c *Coordinator) RemoveMember(ctx context.Context, change Change) error {
	return c.change(ctx, OpRemove, change)
}

// PromoteMember gives a learner that keeps up its vote.
func (c *Coordinator) PromoteMember(ctx context.Context, change Change) error {
	return c.change(ctx, OpPromote, change)
}

// ReplaceMember removes the lost voter of a name and gives its vote to the
// learner that came back under the same name.
func (c *Coordinator) ReplaceMember(ctx context.Context, change Change) error {
	return c.change(ctx, OpReplace, change)
}

// MoveLeadership hands leadership to a voter, or to any voter if Node is empty.
func (c *Coordinator) MoveLeadership(ctx context.Context, change Change) error {
	return c.change(ctx, OpTransfer, change)
}

func (c *Coordinator) change(ctx context.Context, op string, change Change) error {
	_, err := c.changeAtLeader(ctx, Request{Op: op, Node: change.Node, IfIndex: change.IfIndex})
	return err
}

// memberList describes the members, with what only the leader knows if this
// node leads.
func (c *Coordinator) memberList() MemberList {
	stats := c.node.Group.Stats()
	set, err := c.node.Group.CommittedMembers()
	if err != nil {
		c.node.Log.Warn("the index of the members is unknown", "error", err)
	}
	list := MemberList{
		ClusterID: c.clusterID(),
		LeaderID:  stats.LeaderID,
		Index:     set.Index,
		Voters:    c.votersWanted(),
		Members:   []MemberStatus{},
		Waiting:   []WaitingNode{},
		Findings:  []health.Finding{},
	}
	view, members := c.node.Gossip.View(), map[string]bool{}
	heard := map[string]discovery.Member{c.node.NodeID: {Alive: true, Version: c.node.Version}}
	for _, seen := range view {
		heard[seen.NodeID] = seen
	}
	for _, m := range stats.Members {
		members[m.NodeID] = true
		// Index and members belong together, so members that are not committed yet are
		// left out.
		if set.Index != 0 && !set.Contains(m.NodeID) {
			continue
		}
		m.Voter = m.Voter && (set.Index == 0 || slices.Contains(set.Voters, m.NodeID))
		s := c.memberStatus(m, heard[m.NodeID].Version)
		if list.LeaderID != c.node.NodeID {
			s.Healthy = heard[m.NodeID].Alive // a follower has only gossip
		}
		list.Members = append(list.Members, s)
	}
	slices.SortStableFunc(list.Members, func(a, b MemberStatus) int { return strings.Compare(a.Name, b.Name) })
	for _, seen := range view {
		// A node of this cluster that is no member was removed, unless it is joining.
		if seen.Alive && !members[seen.NodeID] && (seen.ClusterID == "" || seen.ClusterID == list.ClusterID && seen.Joining) {
			list.Waiting = append(list.Waiting, WaitingNode{NodeID: seen.NodeID, Name: seen.Name, Address: seen.Peer})
		}
	}
	return list
}

func (c *Coordinator) memberStatus(m consensus.Member, version string) MemberStatus {
	s := MemberStatus{
		NodeID: m.NodeID, Name: m.Name, Role: RoleLearner, Address: m.PeerAddr, Version: version,
		LagEntries: m.LagEntries, LastContactMs: m.LastContact,
		Healthy: m.NodeID == c.node.NodeID || m.LastContact >= 0 && time.Duration(m.LastContact)*time.Millisecond <= c.silenceMax(),
	}
	switch {
	case m.Leader:
		s.Role = RoleLeader
	case m.Voter:
		s.Role = RoleVoter
	}
	return s
}

// silenceMax is the time that a healthy member may be silent. A leader sends to each member
// about every tenth of the heartbeat timeout. The remaining time is for slow disks, which delay
// answers to heartbeats.
func (c *Coordinator) silenceMax() time.Duration { return 4 * c.node.Heartbeat }

// votersWanted returns the number of voters up to which learners are promoted automatically.
func (c *Coordinator) votersWanted() int {
	if c.node.Policy.Voters > 0 {
		return c.node.Policy.Voters
	}
	return max(c.node.BootstrapExpect, len(c.node.Bootstrap.Record().InitialMembers))
}
