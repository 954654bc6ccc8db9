package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// A connection of kind peernet.KindMembership carries one Request and one Answer, both JSON.

// Operations of a Request.
const (
	OpMembers  = "members"
	OpAdd      = "add"
	OpRemove   = "remove"
	OpPromote  = "promote"
	OpReplace  = "replace"
	OpTransfer = "transfer"
	OpIsMember = "is-member" // is Node a member? See removal_check.go
	OpJoin     = "join"      // From asks to become a learner
	OpInvite   = "invite"    // the receiver may record that it joins
	OpProbe    = "probe"     // does the receiver answer?
	OpDrain    = "drain"     // the receiver prepares for a stop
	OpUncordon = "uncordon"  // the receiver ends that
	OpAsk      = "ask"       // what does the receiver say about Subject?
	OpWrap     = "wrap"      // the receiver wraps the sealing key for From
)

// Request is one request of a node to another.
type Request struct {
	Op      string `json:"op"`
	From    string `json:"from"`              // node id of the sender
	Cluster string `json:"cluster,omitempty"` // of the sender; empty before it joined one
	Node    string `json:"node,omitempty"`    // the subject of the request
	IfIndex uint64 `json:"ifIndex,omitempty"`
	// Final keeps the receiver from forwarding the request, which happens once at most.
	Final        bool                `json:"final,omitempty"`
	BudgetMillis int64               `json:"budgetMillis,omitempty"`
	Record       *storage.Membership `json:"record,omitempty"`    // of an invitation
	Proof        string              `json:"proof,omitempty"`     // of a join or invitation, see ProofOf
	Subject      string              `json:"subject,omitempty"`   // of OpAsk
	Query        json.RawMessage     `json:"query,omitempty"`     // of OpAsk
	PublicKey    []byte              `json:"publicKey,omitempty"` // of From, in OpWrap
}

// Verdicts of an Answer.
const (
	Done      = "done"
	Refused   = "refused"
	Elsewhere = "elsewhere" // nothing happened: the receiver does not lead
	Unknown   = "unknown"   // it may or may not happen
)

// Answer answers a Request.
type Answer struct {
	Verdict string              `json:"verdict"`
	Kind    RefusalKind         `json:"kind,omitempty"`
	Text    string              `json:"text,omitempty"`
	Hint    string              `json:"hint,omitempty"`
	Record  *storage.Membership `json:"record,omitempty"` // to record before joining
	Members *MemberList         `json:"members,omitempty"`
	Removed bool                `json:"removed,omitempty"` // answer to OpIsMember: Node is no member

	// Answers to OpProbe, and Drained to OpDrain and OpUncordon.
	Waiting    bool              `json:"waiting,omitempty"` // the receiver can be added
	Drained    bool              `json:"drained,omitempty"`
	Admin      string            `json:"admin,omitempty"`    // the URL of its admin port
	Findings   []health.Finding  `json:"findings,omitempty"` // of the checks that it measures
	Encryption *EncryptionStatus `json:"encryption,omitempty"`
	PublicKey  []byte            `json:"publicKey,omitempty"` // for wrapping the sealing key

	Content json.RawMessage `json:"content,omitempty"` // answer to OpAsk
	Wrap    *WrappedKey     `json:"wrap,omitempty"`    // answer to OpWrap
}

const (
	budgetDefault = 10 * time.Second // for a request without a budget
	answerGrace   = 2 * time.Second  // to wait for an answer beyond the budget
	servedMax     = 32               // requests at once: operators and joining nodes are few
	retryPause    = 100 * time.Millisecond
)

func answerOf(err error) Answer {
	var refusal *MembershipRefusal
	switch {
	case err == nil:
		return Answer{Verdict: Done}
	case errors.As(err, &refusal):
		return Answer{Verdict: Refused, Kind: refusal.Kind, Text: refusal.Text, Hint: refusal.Hint}
	case errors.Is(err, fault.ErrNotLeader):
		return Answer{Verdict: Elsewhere, Text: err.Error()}
	default:
		return Answer{Verdict: Unknown, Text: err.Error()}
	}
}

// changeAtLeader executes a request at the leader, and retries until it is answered or ctx
// ends. Each request names the state that it leads to, so repeating it is safe.
func (c *Coordinator) changeAtLeader(ctx context.Context, r Request) (Answer, error) {
	r.From, r.Cluster = c.node.NodeID, c.clusterID()
	if _, limited := ctx.Deadline(); !limited {
		limited, cancel := context.WithTimeout(ctx, budgetDefault)
		defer cancel()
		ctx = limited
	}
	unknown, last := false, "no leader is known"
	for {
		leadership, term := c.node.Group.LeadershipChanged(), c.node.TermChanged()
		answer, err := c.askLeader(ctx, r)
		switch {
		case err != nil:
			unknown, last = true, err.Error()
		case answer.Verdict == Done:
			return answer, nil
		case answer.Verdict == Refused:
			// An earlier attempt with a lost answer has removed or replaced the node.
			if unknown && (r.Op == OpRemove || r.Op == OpReplace) && answer.Kind == RefusedUnknownNode {
				return Answer{Verdict: Done}, nil
			}
			return answer, &MembershipRefusal{Kind: answer.Kind, Text: answer.Text, Hint: answer.Hint}
		case answer.Verdict == Unknown:
			unknown, last = true, answer.Text
		default:
			if answer.Text != "" {
				last = answer.Text
			}
		}
		if !c.pause(ctx, leadership, term) {
			kind := fault.ErrUnavailable
			if unknown && r.Op != OpMembers && r.Op != OpIsMember {
				kind = fault.ErrOutcomeUnknown
			}
			return Answer{}, fmt.Errorf("%w: %s", kind, last)
		}
	}
}

// pause waits before the next attempt. A change of leadership ends the pause. again reports whether
// to make another attempt.
func (c *Coordinator) pause(ctx context.Context, leadership, term <-chan struct{}) (again bool) {
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-c.node.Closing.Done():
		return false
	case <-ctx.Done():
	case <-leadership:
	case <-term:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// askLeader executes a request once, here or at the known leader.
func (c *Coordinator) askLeader(ctx context.Context, r Request) (Answer, error) {
	if c.node.Leads() {
		return c.executeChange(ctx, r), nil
	}
	leader := c.node.Group.Leadership().LeaderID
	if leader == "" || leader == c.node.NodeID {
		return Answer{Verdict: Elsewhere, Text: "no leader is known"}, nil
	}
	r.Final = true
	return c.askNode(ctx, leader, r)
}

// askNode sends one request to a node.
func (c *Coordinator) askNode(ctx context.Context, nodeID string, r Request) (Answer, error) {
	r.BudgetMillis = budgetDefault.Milliseconds()
	ctx, cancel := context.WithTimeout(ctx, budgetDefault+answerGrace)
	defer cancel()
	answer, err := peernet.Ask[Answer](ctx, c.node.Network, nodeID, peernet.KindMembership, 0, r)
	if errors.Is(err, peernet.ErrNotAsked) {
		return Answer{Verdict: Elsewhere, Text: err.Error()}, nil // nothing happened
	}
	return answer, err
}

// Questions answers the other nodes.
func (c *Coordinator) Questions() peernet.Answering[Request, Answer] {
	return peernet.Answering[Request, Answer]{
		AtOnce:  servedMax,
		Arrival: c.node.Arrival,
		Answer: func(_ context.Context, from string, r Request) (Answer, func()) {
			budget := budgetDefault
			if r.BudgetMillis > 0 {
				budget = time.Duration(r.BudgetMillis) * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(c.node.Closing, budget)
			defer cancel()
			return c.answer(ctx, from, r), nil
		},
	}
}

// refuseNonMember refuses a request that only members may make. It contains nothing about the
// cluster.
func refuseNonMember() Answer {
	return answerOf(refused(RefusedPolicy, "", "only members of the cluster may ask this"))
}

// mayAsk reports whether a node may make a request; from is the node id of its handshake.
// Joins and invitations must also prove the gossip key, see checkProof.
func (c *Coordinator) mayAsk(from string, r Request) bool {
	own := r.From == from
	switch r.Op {
	case OpJoin: // members forward it to the leader
		return own || c.knowsMember(from)
	case OpInvite:
		return own
	case OpIsMember: // a removed node asks about itself; members forward it
		return own && r.Node == from || c.knowsMember(from)
	case OpProbe:
		record := c.node.Bootstrap.Record()
		return own && (record.ClusterID == "" || record.Joined && !record.Added || c.knowsMember(from))
	}
	return own && c.knowsMember(from)
}

// knowsMember reports whether a node is a member as far as this node knows. The leader always
// is: the entry with its membership may not be here yet.
func (c *Coordinator) knowsMember(nodeID string) bool {
	if nodeID == c.node.NodeID || nodeID == c.node.Group.Leadership().LeaderID {
		return true
	}
	members := c.node.Group.Members()
	return slices.Contains(members.Voters, nodeID) || slices.Contains(members.Learners, nodeID)
}

func (c *Coordinator) answer(ctx context.Context, from string, r Request) Answer {
	if !c.mayAsk(from, r) {
		c.node.Network.RefuseQuestion(from, r.Op)
		return refuseNonMember()
	}
	switch own := c.clusterID(); {
	case r.Op == OpProbe:
		record := c.node.Bootstrap.Record()
		return Answer{
			Verdict: Done, Waiting: own == "" || record.Joined && !record.Added,
			Drained: c.drained.Load(), Findings: c.node.Findings(), Admin: c.node.AdminURL, Encryption: c.node.Encryption(),
			PublicKey: c.node.Sealing.PublicKey(),
		}
	case r.Op == OpInvite:
		return answerOf(c.acceptInvitation(r))
	case own == "":
		return Answer{Verdict: Elsewhere, Text: "node " + c.node.NodeID + " belongs to no cluster yet"}
	case r.Cluster != own && (r.Op != OpJoin || r.Cluster != ""):
		return refuseNonMember()
	case r.Op == OpWrap:
		return c.wrapFor(from, r.PublicKey)
	case r.Op == OpDrain || r.Op == OpUncordon:
		c.node.Log.Info("request of another node", "operation", r.Op, "asked_by", r.From)
		answer := answerOf(c.drainHere(ctx, r.Op))
		answer.Drained = c.drained.Load()
		return answer
	case r.Op == OpAsk:
		return c.answerAsk(ctx, r)
	case c.node.Leads():
		return c.executeChange(ctx, r)
	case r.Final:
		return Answer{Verdict: Elsewhere, Text: "node " + c.node.NodeID + " does not lead"}
	}
	answer, err := c.askLeader(ctx, r)
	if err != nil {
		return Answer{Verdict: Unknown, Text: err.Error()}
	}
	return answer
}
