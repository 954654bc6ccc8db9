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

// FailureDetector detects a missing leader and lets the voter with the longest log campaign at
// once. Safe for concurrent use.
type FailureDetector struct {
	options   Options
	silence   time.Duration // without contact, after which the leader is missing
	consensus Consensus
	// started is closed once consensus is set. Before that, while this node reads its log, it only
	// answers that it does not lead.
	started    chan struct{}
	suspected  wakeup.Signal // makes Run check the leader
	unanswered unanswered    // questions to the leader
	uncalled   unanswered    // calls to it
	attempts   attempts      // to hand over
}

// Options configure a FailureDetector.
type Options struct {
	NodeID    string
	Group     uint32 // consensus group of the connections
	Network   *peernet.Network
	Heartbeat time.Duration // timeout of the consensus library
	Clock     environment.Clock
	Log       *slog.Logger
	// Call makes a forwarded call of another node that changes nothing. An error means that the
	// node gave no answer before ctx ended.
	Call func(ctx context.Context, nodeID string) error
}

// Consensus is the interface to the running consensus library.
type Consensus struct {
	// Leadership returns the newest known leader.
	Leadership func() Leadership
	// LastEntry returns the newest entry in this node's log.
	LastEntry func() LogPosition
	// SinceContact returns the time since this node's last contact with the leader.
	SinceContact func() time.Duration
	// Voters returns the node ids of the voters.
	Voters func() []string
	// HeardVoters returns the voters that this leader had recent contact with.
	HeardVoters func() []string
	// Campaign begins an election in which this node is the candidate.
	Campaign func() error
	// MayLead reports whether a voter is fit to lead.
	MayLead func(nodeID string) bool
	// Transfer hands leadership to a voter, in bounded time.
	Transfer func(ctx context.Context, nodeID string) error
}

// Leadership names the leader of a term.
type Leadership struct {
	Term     uint64
	LeaderID string // node id, empty if unknown
	Self     bool   // this node leads
}

// LogPosition identifies an entry in the log.
type LogPosition struct{ Term, Index uint64 }

const (
	// silentPart is the part of the heartbeat timeout after which a silent leader is missing. One
	// timeout has five to ten heartbeats.
	silentPart = 0.5
	// Pause between probes of a leader that does not answer. It is short at first, because the port
	// of a dying process may outlive its connections for a moment.
	retryPauseMin = 10 * time.Millisecond
	retryPauseMax = 100 * time.Millisecond
)

// Silence returns the time without contact after which followers replace a leader.
func Silence(heartbeat time.Duration) time.Duration {
	return time.Duration(silentPart * float64(heartbeat))
}

// New returns a FailureDetector. It answers questions with Serve, and takes part in elections after
// Start, with Run.
func New(options Options) *FailureDetector {
	return &FailureDetector{
		options: options, silence: Silence(options.Heartbeat),
		started: make(chan struct{}), suspected: wakeup.NewSignal(),
		unanswered: unanswered{pause: options.Heartbeat}, uncalled: unanswered{pause: options.Heartbeat},
	}
}

// Start connects the detector to the running consensus library. It is called once.
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

// Notify makes this node check the leader.
func (d *FailureDetector) Notify() { d.suspected.Notify() }

// Suspect reports a node whose connection broke or failed, or that does not answer calls.
func (d *FailureDetector) Suspect(nodeID string) {
	if d.hasStarted() && nodeID == d.consensus.Leadership().LeaderID {
		d.Notify()
	}
}

// Run checks the leader until ctx ends. It is called after Start.
func (d *FailureDetector) Run(ctx context.Context) {
	timer := time.NewTimer(0) // no leader is known at first
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
		case <-d.suspected:
		}
		switch state := d.checkLeader(ctx); state {
		case leaderAlive:
			timer.Reset(d.silence)
			pause = retryPauseMin
		case leaderUnknown:
			timer.Reset(retryPauseMax) // repeat an election without a winner
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
			d.Notify() // until the leader answers or changes
		}
	}
}

// silent returns the time since the last contact with the leader; zero at the leader itself.
func (d *FailureDetector) silent() time.Duration {
	if leader := d.consensus.Leadership(); leader.Self || leader.LeaderID == "" {
		return 0
	}
	return d.consensus.SinceContact()
}

// leaderState is a follower's view of its leader.
type leaderState int

const (
	leaderAlive leaderState = iota
	// leaderUnknown: no leader is known, for example during an election.
	leaderUnknown
	// leaderUnclear: there was recent contact, but no answer now.
	leaderUnclear
	leaderMissing
	// leaderUncalled: it leads but answers no calls.
	leaderUncalled
)

// checkLeader probes the leader. This node campaigns if the leader is missing and no other voter
// precedes this one. If the leader answers no calls, this node offers to take over.
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

// shouldCampaign asks the voters other than the leader. It reports whether a majority finds the
// leader missing, and this node is the one to campaign.
func (d *FailureDetector) shouldCampaign(ctx context.Context, q question) bool {
	own := d.lastEntry()
	voters := d.consensus.Voters()
	if !slices.Contains(voters, d.options.NodeID) {
		return false // a campaign of a learner only raises the voters' terms
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

// before reports whether voter is a better candidate than otherVoter. The library elects no node
// with an outdated log, and of equals exactly one must campaign.
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
