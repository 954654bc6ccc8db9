package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// A connection of kind peernet.KindMembership carries one membershipRequest and one
// membershipAnswer, both JSON.

// What a membershipRequest asks.
const (
	opMembers  = "members"
	opAdd      = "add"
	opRemove   = "remove"
	opPromote  = "promote"
	opReplace  = "replace"
	opTransfer = "transfer"
	opIsMember = "standing" // is Node a member? See removal_check.go
	opJoin     = "join"     // From wants to become a learner
	opInvite   = "invite"   // the asked node may write down that it joins
	opProbe    = "probe"    // does the asked node answer?
	opDrain    = "drain"    // the asked node prepares for being stopped
	opUncordon = "uncordon" // and ends that
	opHolder   = "holder"   // which client of the asked node has Hold?
	opWrap     = "wrap"     // the asked node wraps the sealing key for From
)

type membershipRequest struct {
	Op      string `json:"op"`
	From    string `json:"from"`              // node id of the asker
	Cluster string `json:"cluster,omitempty"` // of the asker; empty before it joined one
	Node    string `json:"node,omitempty"`    // whom it is about
	IfIndex uint64 `json:"ifIndex,omitempty"`
	// Final: execute here or not at all. A request is forwarded once at most.
	Final        bool                `json:"final,omitempty"`
	BudgetMillis int64               `json:"budgetMillis,omitempty"`
	Record       *storage.Membership `json:"record,omitempty"`    // of an invitation
	Proof        string              `json:"proof,omitempty"`     // of a join or invitation, see proofOf
	Hold         *holders.Hold       `json:"hold,omitempty"`      // of a question about a holder
	PublicKey    []byte              `json:"publicKey,omitempty"` // of From, for opWrap
}

// How a membershipRequest ended.
const (
	changeDone      = "done"
	changeRefused   = "refused"
	changeElsewhere = "elsewhere" // nothing happened: this node does not lead
	changeUnknown   = "unknown"   // it may or may not happen
)

type membershipAnswer struct {
	Verdict string              `json:"verdict"`
	Kind    RefusalKind         `json:"kind,omitempty"`
	Text    string              `json:"text,omitempty"`
	Hint    string              `json:"hint,omitempty"`
	Record  *storage.Membership `json:"record,omitempty"` // to write down before joining
	Members *MemberList         `json:"members,omitempty"`
	Removed bool                `json:"removed,omitempty"` // answer to whether Node is a member

	Waiting  bool             `json:"waiting,omitempty"`  // answer to a probe: it can be added
	Drained  bool             `json:"drained,omitempty"`  // answer to a probe, a drain or the end of one
	Admin    string           `json:"admin,omitempty"`    // answer to a probe: the URL of its admin port
	Findings []health.Finding `json:"findings,omitempty"` // answer to a probe: of the checks that the node measures
	// Encryption is part of the answer to a probe.
	Encryption *EncryptionStatus `json:"encryption,omitempty"`
	Holder     *holders.Found    `json:"holder,omitempty"` // answer to a question about a holder, if it is known
	// PublicKey is the answer to a probe: the sealing key is wrapped for it.
	PublicKey []byte      `json:"publicKey,omitempty"`
	Wrap      *wrappedKey `json:"wrap,omitempty"` // answer to opWrap
}

const (
	// membershipBudget is how long a request may take when it does not say.
	membershipBudget = 10 * time.Second
	// membershipGrace is how much longer than its budget an answer is awaited.
	membershipGrace = 2 * time.Second
	// membershipServedMax bounds the requests served at once: operators and
	// joining nodes are few.
	membershipServedMax  = 32
	membershipRetryPause = 100 * time.Millisecond
)

func answerOf(err error) membershipAnswer {
	var refusal *MembershipRefusal
	switch {
	case err == nil:
		return membershipAnswer{Verdict: changeDone}
	case errors.As(err, &refusal):
		return membershipAnswer{Verdict: changeRefused, Kind: refusal.Kind, Text: refusal.Text, Hint: refusal.Hint}
	case errors.Is(err, fault.ErrNotLeader):
		return membershipAnswer{Verdict: changeElsewhere, Text: err.Error()}
	default:
		return membershipAnswer{Verdict: changeUnknown, Text: err.Error()}
	}
}

// changeAtLeader executes a request at the leader, and retries until it is answered or
// ctx ends. All requests may be repeated: each names the state it wants.
func (n *Node) changeAtLeader(ctx context.Context, r membershipRequest) (membershipAnswer, error) {
	r.From, r.Cluster = n.process.nodeID, n.process.clusterID()
	if _, limited := ctx.Deadline(); !limited {
		limited, cancel := context.WithTimeout(ctx, membershipBudget)
		defer cancel()
		ctx = limited
	}
	unknown, last := false, "no leader is known"
	for {
		changed := n.leaderMayChange()
		answer, err := n.askLeader(ctx, r)
		switch {
		case err != nil:
			unknown, last = true, err.Error()
		case answer.Verdict == changeDone:
			return answer, nil
		case answer.Verdict == changeRefused:
			// An earlier attempt, whose answer was lost, has removed or replaced
			// the node.
			if unknown && (r.Op == opRemove || r.Op == opReplace) && answer.Kind == RefusedUnknownNode {
				return membershipAnswer{Verdict: changeDone}, nil
			}
			return answer, &MembershipRefusal{Kind: answer.Kind, Text: answer.Text, Hint: answer.Hint}
		case answer.Verdict == changeUnknown:
			unknown, last = true, answer.Text
		default:
			if answer.Text != "" {
				last = answer.Text
			}
		}
		if _, again := n.pause(ctx, changed, membershipRetryPause); !again {
			kind := fault.ErrUnavailable
			if unknown && r.Op != opMembers && r.Op != opIsMember {
				kind = fault.ErrOutcomeUnknown
			}
			return membershipAnswer{}, fmt.Errorf("%w: %s", kind, last)
		}
	}
}

// askLeader executes a request once, here or at the node that is known to lead.
func (n *Node) askLeader(ctx context.Context, r membershipRequest) (membershipAnswer, error) {
	if n.leads() {
		return n.executeChange(ctx, r), nil
	}
	leader := n.group.Leadership().LeaderID
	if leader == "" || leader == n.process.nodeID {
		return membershipAnswer{Verdict: changeElsewhere, Text: "no leader is known"}, nil
	}
	r.Final = true
	return n.askNode(ctx, leader, r)
}

// askNode sends one request to a node.
func (n *Node) askNode(ctx context.Context, nodeID string, r membershipRequest) (membershipAnswer, error) {
	r.BudgetMillis = membershipBudget.Milliseconds()
	ctx, cancel := context.WithTimeout(ctx, membershipBudget+membershipGrace)
	defer cancel()
	answer, err := peernet.Ask[membershipAnswer](ctx, n.process.network, nodeID, peernet.KindMembership, 0, r)
	if errors.Is(err, peernet.ErrNotAsked) {
		return membershipAnswer{Verdict: changeElsewhere, Text: err.Error()}, nil // nothing happened
	}
	return answer, err
}

// membershipQuestions answers the other nodes.
func (n *Node) membershipQuestions() peernet.Answering[membershipRequest, membershipAnswer] {
	return peernet.Answering[membershipRequest, membershipAnswer]{
		AtOnce:  membershipServedMax,
		Arrival: n.cfg.Timing.Dial,
		Answer: func(_ context.Context, from string, r membershipRequest) (membershipAnswer, func()) {
			budget := membershipBudget
			if r.BudgetMillis > 0 {
				budget = time.Duration(r.BudgetMillis) * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(n.closing, budget)
			defer cancel()
			return n.membershipAnswer(ctx, from, r), nil
		},
	}
}

// notForStrangers is the refusal of a request that only members may make. It tells a node
// that is no member nothing.
func notForStrangers() membershipAnswer {
	return answerOf(refused(RefusedPolicy, "", "only members of the cluster may ask this"))
}

// mayAsk reports whether a node may make a request; from is the node as its handshake has
// shown it. Joins and invitations prove the gossip key beside, see checkProof.
func (n *Node) mayAsk(from string, r membershipRequest) bool {
	own := r.From == from
	switch r.Op {
	case opJoin: // members pass it on to the leader
		return own || n.knowsMember(from)
	case opInvite:
		return own
	case opIsMember: // a removed node asks about itself; members pass it on
		return own && r.Node == from || n.knowsMember(from)
	case opProbe:
		given := n.process.bootstrap.membership()
		return own && (given.ClusterID == "" || given.Joined && !given.Added || n.knowsMember(from))
	}
	return own && n.knowsMember(from)
}

// knowsMember reports whether a node is a member as far as this node knows. A leader is one
// in any case: the entry with its membership may not be here yet.
func (n *Node) knowsMember(nodeID string) bool {
	if nodeID == n.process.nodeID || nodeID == n.group.Leadership().LeaderID {
		return true
	}
	members := n.group.Members()
	return slices.Contains(members.Voters, nodeID) || slices.Contains(members.Learners, nodeID)
}

func (n *Node) membershipAnswer(ctx context.Context, from string, r membershipRequest) membershipAnswer {
	if !n.mayAsk(from, r) {
		n.process.network.RefuseQuestion(from, r.Op)
		return notForStrangers()
	}
	switch own := n.process.clusterID(); {
	case r.Op == opProbe:
		given := n.process.bootstrap.membership()
		return membershipAnswer{
			Verdict: changeDone, Waiting: own == "" || given.Joined && !given.Added,
			Drained: n.drained.Load(), Findings: n.findings(), Admin: n.cfg.AdminURL, Encryption: n.encryptionStatus(),
			PublicKey: n.process.sealing.PublicKey(),
		}
	case r.Op == opInvite:
		return answerOf(n.acceptInvitation(r))
	case own == "":
		return membershipAnswer{Verdict: changeElsewhere, Text: "node " + n.process.nodeID + " belongs to no cluster yet"}
	case r.Cluster != own && (r.Op != opJoin || r.Cluster != ""):
		return notForStrangers()
	case r.Op == opWrap:
		return n.wrapFor(from, r.PublicKey)
	case r.Op == opDrain || r.Op == opUncordon:
		n.log.Info("another node asks this one", "to", r.Op, "asked_by", r.From)
		answer := answerOf(n.drainHere(ctx, r.Op))
		answer.Drained = n.drained.Load()
		return answer
	case r.Op == opHolder:
		return n.answerHolder(r.Hold)
	case n.leads():
		return n.executeChange(ctx, r)
	case r.Final:
		return membershipAnswer{Verdict: changeElsewhere, Text: "node " + n.process.nodeID + " does not lead"}
	}
	answer, err := n.askLeader(ctx, r)
	if err != nil {
		return membershipAnswer{Verdict: changeUnknown, Text: err.Error()}
	}
	return answer
}
