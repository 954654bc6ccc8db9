package election

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/peernet"
)

const (
	// leaderBudget bounds a question to the leader, voterBudget one to another voter, which asks
	// the leader before it answers. They are long for a network, but not for a busy machine.
	leaderBudget = 250 * time.Millisecond
	voterBudget  = 2 * leaderBudget
	// agreementBudget bounds a question to a voter that also calls the leader.
	agreementBudget = voterBudget + leaderBudget
	// questionsMax bounds concurrent answers, because each may make this node ask the leader. A
	// node asks one question at a time.
	questionsMax = 64
)

// question asks a voter whether it finds the leader missing, or the leader whether it leads. The
// zero question asks whether the node answers.
type question struct {
	Leader string `json:"leader"`
	Term   uint64 `json:"term"`
	// Isolated is a voter that knows no leader although others may, see partial_partition.go.
	// Without Leader, that voter asks for help. With Leader, another voter asks the leader whether
	// it has contact with that voter; with Successor too, it offers to lead instead. With Leader
	// and Successor alone, a voter offers to lead because the leader answers no calls, see
	// calls.go.
	Isolated  string `json:"stranded,omitempty"`
	Successor string `json:"successor,omitempty"`
	// Leaderless asks whether the other node knows no leader either, see leaderless_election.go.
	Leaderless bool `json:"vacant,omitempty"`
	// Padding makes a question long, to test the bandwidth to a node.
	Padding string `json:"padding,omitempty"`
}

// about returns the question about a leader.
func about(leader Leadership) question { return question{Leader: leader.LeaderID, Term: leader.Term} }

// answer is the answer to a question.
type answer struct {
	Leads  bool `json:"leads,omitempty"`
	Misses bool `json:"misses,omitempty"`
	// The newest entry in the node's log.
	LastTerm  uint64 `json:"lastTerm"`
	LastIndex uint64 `json:"lastIndex"`
	// Heard are the voters that the leader has contact with.
	Heard []string `json:"heard,omitempty"`
}

// ask sends a question to a node.
func (d *FailureDetector) ask(ctx context.Context, nodeID string, q question, budget time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	return peernet.Ask[answer](ctx, d.options.Network, nodeID, peernet.KindFailureDetector, d.options.Group, q)
}

// askVoters sends a question to all voters except this node and the leader in question,
// concurrently, and waits for all of them. It calls answered with one answer at a time.
func (d *FailureDetector) askVoters(ctx context.Context, q question, budget time.Duration, answered func(voter string, a answer)) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, voter := range d.consensus.Voters() {
		if voter == q.Leader || voter == d.options.NodeID {
			continue
		}
		asking.Go(func() {
			a, err := d.ask(ctx, voter, q, budget)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answered(voter, a)
		})
	}
	asking.Wait()
}

// Serve answers the other nodes until the listener closes or ctx ends, all concurrently, because
// nodes ask each other when the leader is missing. It closes connections above questionsMax. You
// may call it before Start.
func (d *FailureDetector) Serve(ctx context.Context, listener net.Listener) {
	peernet.Answering[question, answer]{
		AtOnce: questionsMax, CloseExcess: true, Arrival: voterBudget, Within: agreementBudget,
		Answerable: d.answerable,
		Answer: func(limited context.Context, from string, q question) (answer, func()) {
			a := d.answer(limited, from, q)
			return a, func() { d.followUp(ctx, q, a) }
		},
	}.Serve(ctx, listener)
}

// answerable reports whether this node can answer a question yet. While it reads its log, it can
// answer that it does not lead, so that the others replace it.
func (d *FailureDetector) answerable(q question) bool {
	return d.hasStarted() || q.Leader == d.options.NodeID
}

func (d *FailureDetector) answer(ctx context.Context, from string, q question) answer {
	if !d.hasStarted() {
		return answer{}
	}
	a, leader := d.lastEntry(), d.consensus.Leadership()
	switch asked := (Leadership{Term: q.Term, LeaderID: q.Leader}); {
	case q.Leaderless:
		a.Misses, a.Leads = leader.LeaderID == "", leader.Self
	case q.Leader == "":
		// A request for help, or a test whether this node answers.
	case q.Leader == d.options.NodeID:
		a.Leads = leader.Self && leader.Term == q.Term
		if a.Leads && q.Isolated != "" {
			a.Heard = d.consensus.HeardVoters()
		}
	case leader.Term != q.Term:
		// One of the two nodes knows an older leader.
	case leader.LeaderID == "":
		a.Misses = true
	case leader == asked:
		state := d.probeLeader(ctx, leader)
		a.Misses = state == leaderMissing || state == leaderUncalled && d.call(ctx, from) == nil
		d.Notify() // this node may be the one to campaign
	}
	return a
}

// followUp acts on a question after its answer.
func (d *FailureDetector) followUp(ctx context.Context, q question, a answer) {
	switch {
	case q.Leader == "" && q.Isolated != "":
		d.offerToLead(ctx, q.Isolated)
	case a.Leads && q.Successor != "":
		d.handOver(ctx, q)
	}
}
