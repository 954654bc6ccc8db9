package election

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// FailureDetector notices that the leader is gone, and lets the best placed voter
// campaign at once. Safe for concurrent use.
type FailureDetector struct {
	options   Options
	silence   time.Duration // of the leader, after which it is missing
	consensus Consensus
	// started is closed once consensus is set. Before, while this node reads its
	// log, it only answers that it does not lead.
	started chan struct{}
	// suspicion makes Run check on the leader.
	suspicion  wakeup.Signal
	unanswered unanswered // questions to the leader
	uncalled   unanswered // calls to it
	attempts   attempts   // to hand over
}

// Options are what a FailureDetector knows before consensus has started.
type Options struct {
	NodeID    string
	Group     uint32 // of the connections
	Network   *peernet.Network
	Heartbeat time.Duration // timeout of the consensus library
	Clock     environment.Clock
	Log       *slog.Logger
	// Call makes a call of another node as those of clients are passed on, which changes
	// nothing. It ends with ctx; the error says that the node gave no answer.
	Call func(ctx context.Context, nodeID string) error
}

// Consensus is what a FailureDetector reads and does once consensus has started.
type Consensus struct {
	// Leadership is the newest known leader.
	Leadership func() Leadership
	// LastEntry is the newest entry in the log of this node.
	LastEntry func() LogPosition
	// SinceContact is how long ago this node heard from the leader.
	SinceContact func() time.Duration
	// Voters are the node ids of the voters.
	Voters func() []string
	// HeardVoters are the voters that this leader heard from of late.
	HeardVoters func() []string
	// Campaign begins an election in which this node is the candidate.
	Campaign func() error
	// MayLead reports whether nothing is known against a voter as leader.
	MayLead func(nodeID string) bool
	// Transfer hands leadership to a voter. It ends in bounded time.
	Transfer func(ctx context.Context, nodeID string) error
}

// Leadership names the leader of a term.
type Leadership struct {
	Term     uint64
	LeaderID string // node id, empty if unknown
	Self     bool   // this node leads
}

// LogPosition is where an entry is in the log.
type LogPosition struct{ Term, Index uint64 }

const (
	// silentPart is the part of the heartbeat timeout after which a silent leader is
	// missing. Heartbeats come five to ten times in one timeout.
	silentPart = 0.5
	// Between two probes of a leader that does not answer: short at first, since the
	// port of a process that ends may be open for a moment after its connections broke.
	retryPauseMin = 10 * time.Millisecond
	retryPauseMax = 100 * time.Millisecond
)

// Silence is after how long followers replace a leader that is silent.
func Silence(heartbeat time.Duration) time.Duration {
	return time.Duration(silentPart * float64(heartbeat))
}

// New returns a FailureDetector that answers questions (Serve) and takes part in
// elections once it is started (Start, Run).
func New(options Options) *FailureDetector {
	return &FailureDetector{
		options: options, silence: Silence(options.Heartbeat),
		started: make(chan struct{}), suspicion: wakeup.NewSignal(),
		unanswered: unanswered{pause: options.Heartbeat}, uncalled: unanswered{pause: options.Heartbeat},
	}
}

// Start is called once, when consensus has started.
func (d *FailureDetector) Start(consensus Consensus) {
	d.consensus = consensus
	close(d.started)
}

func (d *FailureDetector) hasStarted() bool {
	select {
	case <-d.started:
		return true
	default:
		return false
	}
}

// Notify makes this node check whether the leader is still there.
func (d *FailureDetector) Notify() { d.suspicion.Notify() }

// Suspect is told of another node when a connection to it broke or was not made, or when
// calls to it have no answer.
func (d *FailureDetector) Suspect(nodeID string) {
	if d.hasStarted() && nodeID == d.consensus.Leadership().LeaderID {
		d.Notify()
	}
}

// Run checks on the leader until ctx ends. It is called after Start.
func (d *FailureDetector) Run(ctx context.Context) {
	timer := time.NewTimer(0) // there is no leader at first
	defer timer.Stop()
	var none leaderless
	pause := retryPauseMin
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			var again time.Duration
			if none, again = d.findLeader(ctx, none); none.lasts {
				timer.Reset(again)
				continue
			}
			if left := d.silence - d.silent(); left > 0 {
				timer.Reset(left)
				continue
			}
		case <-d.suspicion:
		}
		switch state := d.checkLeader(ctx); state {
		case leaderAlive:
			timer.Reset(d.silence)
			pause = retryPauseMin
		case leaderUnknown:
			timer.Reset(retryPauseMax) // an election that nobody won by then has to be repeated
			pause = retryPauseMin
		default:
			timer.Stop()
			if !wakeup.Sleep(ctx, pause) {
				return
			}
			most := retryPauseMax
			if state == leaderUncalled {
				most = uncalledPauseMax
			}
			pause = min(2*pause, most)
			d.Notify() // until the leader answers, or there is another one
		}
	}
}

// silent is for how long nothing came from the leader; zero at the leader itself.
func (d *FailureDetector) silent() time.Duration {
	if leader := d.consensus.Leadership(); leader.Self || leader.LeaderID == "" {
		return 0
	}
	return d.consensus.SinceContact()
}

// leaderState is what a follower knows of its leader.
type leaderState int

const (
	leaderAlive leaderState = iota
	// leaderUnknown: none is known, as while an election goes on.
	leaderUnknown
	// leaderUnclear: it was heard a moment ago and does not answer, for now.
	leaderUnclear
	leaderMissing
	// leaderUncalled: it leads, and answers no calls.
	leaderUncalled
)

// checkLeader probes the leader. If it is missing and it is this node's turn, this
// node campaigns; if it answers no calls, this node offers to take over.
func (d *FailureDetector) checkLeader(ctx context.Context) leaderState {
	leader := d.consensus.Leadership()
	switch {
	case leader.Self:
		return leaderAlive
	case leader.LeaderID == "":
		return leaderUnknown
	}
	state := d.probeLeader(ctx, leader)
	switch {
	case state == leaderUncalled:
		d.takeOver(ctx, leader)
	case state == leaderMissing && d.shouldCampaign(ctx, about(leader)) && d.consensus.Leadership() == leader:
		d.campaign(ctx, slog.LevelWarn, "a majority misses the leader", leader)
	}
	return state
}

// campaign makes this node a candidate.
func (d *FailureDetector) campaign(ctx context.Context, level slog.Level, reason string, last Leadership) {
	d.options.Log.Log(ctx, level, "this node stands for election", "reason", reason, "leader", last.LeaderID, "term", last.Term)
	if err := d.consensus.Campaign(); err != nil {
		d.options.Log.Warn("campaign failed", "error", err)
	}
}

// probeLeader asks the leader whether it leads.
func (d *FailureDetector) probeLeader(ctx context.Context, leader Leadership) leaderState {
	asked := d.options.Clock.Monotonic()
	a, err := d.ask(ctx, leader.LeaderID, about(leader), leaderBudget)
	if err == nil {
		d.unanswered.answered()
	}
	switch {
	case err == nil && a.Leads:
		return d.probeCalls(ctx, leader)
	case err == nil, errors.Is(err, syscall.ECONNREFUSED):
		return leaderMissing
	}
	if d.isUseless(&d.unanswered, leader, asked) || d.silent() >= d.silence {
		return leaderMissing
	}
	return leaderUnclear
}

// shouldCampaign asks the voters beside the leader, and reports whether a majority
// misses the leader and this node is the one of them to campaign.
func (d *FailureDetector) shouldCampaign(ctx context.Context, q question) bool {
	own := d.lastEntry()
	voters := d.consensus.Voters()
	if !slices.Contains(voters, d.options.NodeID) {
		return false // a learner only raises the voters' terms
	}
	agreeing, best := 1, true // this node
	d.askVoters(ctx, q, voterBudget, func(voter string, a answer) {
		if a.Misses || a.Leads {
			agreeing++
			best = best && !a.Leads && !a.before(voter, own, d.options.NodeID)
		}
	})
	return best && 2*agreeing > len(voters)
}

// before reports whether a voter is a better candidate than another one: the library
// elects nobody whose log is behind, and of equals exactly one must campaign.
func (a answer) before(voter string, other answer, otherVoter string) bool {
	if a.LastTerm != other.LastTerm {
		return a.LastTerm > other.LastTerm
	}
	if a.LastIndex != other.LastIndex {
		return a.LastIndex > other.LastIndex
	}
	return voter < otherVoter
}

func (d *FailureDetector) lastEntry() answer {
	last := d.consensus.LastEntry()
	return answer{LastTerm: last.Term, LastIndex: last.Index}
}
