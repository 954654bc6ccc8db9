package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// landlord is what a tenure needs of its node.
type landlord struct {
	group     Group
	term      uint64   // in which the node leads
	replica   *fsm.FSM // the state of this node
	clusterID func() string
	clock     environment.Clock
	limits    RequestLimits
	settings  ClusterSettings
	entropy   io.Reader
	counts    *counters
	log       *slog.Logger

	auditor     *auditor
	auditPolicy AuditPolicy
	// admit gives the outcome of a client's command that is not taken now, a
	// zero verdict for all others; nil: all are taken.
	admit func(frame []byte) outcome
	// founding is the format version of a new cluster; nil: this program's.
	founding func() uint32
	// informed is closed once clock was compared with those of a majority; nil: it
	// need not be.
	informed <-chan struct{}
	stepMax  time.Duration // of log time by the word of clock alone
}

// tenure is one term of this node as leader: everything only a leader does. Its
// methods are safe for concurrent use.
type tenure struct {
	landlord
	logTime   logClock
	committer *committer
	reads     *rounds[uint64]   // commit indexes with proof of leadership
	ticks     *rounds[struct{}] // the log time has passed everything due
	polls     *polls
	ticker    *ticker
	mover     *mover
	version   atomic.Uint32 // format version of the state

	// interludes takes work to be done between this tenure and the next one.
	// Unbuffered: taken when it begins, by who follows this node's leadership.
	interludes chan func()

	opened chan struct{}   // closed when clients may be served
	lost   <-chan struct{} // closed when leadership is lost or given up
	resign context.CancelFunc
	ended  sync.WaitGroup // everything the tenure runs
}

// beginTenure starts a tenure; ctx bounds its life.
func beginTenure(ctx context.Context, l landlord) *tenure {
	ctx, cancel := context.WithCancel(ctx)
	t := &tenure{
		landlord:   l,
		polls:      newPolls(l.limits.WaitingReceives),
		interludes: make(chan func()),
		opened:     make(chan struct{}),
		lost:       ctx.Done(),
		resign:     cancel,
	}
	t.logTime.clock = l.clock
	t.committer = newCommitter(committerConfig{
		propose:       l.group.Propose,
		stamp:         t.logTime.now,
		monotonic:     l.clock.Monotonic,
		formatVersion: t.version.Load,
		term:          l.term,
		limits:        l.limits,
		counts:        l.counts,
	})
	t.reads = newRounds(t.readIndex, fault.ErrNotLeader)
	t.ticks = newRounds(t.advanceClock, fault.ErrNotLeader)
	t.ticker = newTicker(t)
	t.mover = newMover(t)
	t.ended.Go(func() { t.committer.run(ctx) })
	t.ended.Go(func() { t.live(ctx) })
	return t
}

// end gives up: nothing is proposed any more, all who wait are told. It returns
// when the last entry in flight is answered.
func (t *tenure) end() {
	t.resign()
	t.ended.Wait()
}

// live opens the tenure and runs its jobs until ctx ends.
func (t *tenure) live(ctx context.Context) {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	jobs.Go(func() { t.ticks.run(ctx) })
	if !t.takeOver(ctx) {
		t.reads.end()
		return
	}
	jobs.Go(func() { t.reads.run(ctx) })
	jobs.Go(func() { t.ticker.run(ctx) })
	jobs.Go(func() { t.mover.run(ctx) })
	jobs.Go(func() { t.runAudits(ctx) })
	t.committer.open()
	close(t.opened)
	t.log.Info("leading", "clock", t.logTime.now())
}

// takeOverPause is how long a tenure waits before it tries again to take over,
// when that failed although leadership was not lost.
const takeOverPause = 100 * time.Millisecond

// takeOver prepares the tenure until that succeeds or leadership is lost. To
// have won an election is not enough: entries of earlier terms may still wait
// to be applied (raft.md A5).
func (t *tenure) takeOver(ctx context.Context) bool {
	for {
		err := t.prepare(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			t.log.Warn("taking over leadership failed, trying again", "error", err)
		}
		pause := time.NewTimer(takeOverPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return false
		case <-pause.C:
		}
	}
}

// clockAheadMax is how far log time may be ahead of this node's clock at a
// take-over before the operator is told (raft.md A4).
const clockAheadMax = 30 * time.Second

func (t *tenure) prepare(ctx context.Context) error {
	if err := t.group.Barrier(ctx); err != nil {
		return fmt.Errorf("waiting for the entries of earlier leaders: %w", err)
	}
	// Else the barrier may be one of another term of this node, which knew what
	// had been committed and this one does not.
	if term, leads := t.group.LeaderTerm(); !leads || term != t.term {
		return fmt.Errorf("%w: its term %d has ended", fault.ErrNotLeader, t.term)
	}
	var state queue.Timestamp
	t.replica.Read(func(v queue.View) { state = v.Now() })
	if err := t.awaitClocks(ctx, state); err != nil {
		return err
	}
	if ahead := t.logTime.takeOver(state); ahead > clockAheadMax {
		t.log.Warn("the log is ahead of this node's clock; it advances at half speed until they meet", "ahead", ahead)
	}
	t.version.Store(t.replica.FormatVersion())
	missing, err := t.missingSettings()
	if err != nil {
		return err
	}
	for _, cmd := range missing {
		if err := t.execute(ctx, cmd); err != nil {
			return fmt.Errorf("writing the cluster settings: %w", err)
		}
	}
	t.version.Store(t.replica.FormatVersion())
	return nil
}

// awaitClocksMax is how long a leader waits for other clocks: gossip tells one a
// second.
const awaitClocksMax = 5 * time.Second

// awaitClocks waits, before log time is to take a large step, until more than this
// node's clock says so. That is after all nodes were down for long, or this clock
// is wrong and all were started again. Windows and timeouts end by such a step.
func (t *tenure) awaitClocks(ctx context.Context, state queue.Timestamp) error {
	step := wallSince1970(t.clock) - time.Duration(state)*time.Millisecond
	if state == 0 || step <= t.stepMax || t.informed == nil {
		return nil
	}
	limit := time.NewTimer(awaitClocksMax)
	defer limit.Stop()
	select {
	case <-t.informed:
	case <-limit.C:
		t.log.Warn("log time takes a step by this node's clock alone; no majority told theirs", "step", step)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// missingSettings lists what this leader has to write before anything else.
// The format version comes first: it allows the rest.
func (t *tenure) missingSettings() ([]queue.Command, error) {
	key := make([]byte, 16)
	if _, err := io.ReadFull(t.entropy, key); err != nil {
		return nil, fmt.Errorf("drawing a key: %w", err)
	}
	var cmds []queue.Command
	set := func(name, value string) {
		cmds = append(cmds, &queue.SetClusterSetting{Name: name, Value: value})
	}
	if t.version.Load() == 0 {
		cmds = append(cmds, &queue.SetFormatVersion{Version: t.foundingVersion()})
	}
	t.replica.Read(func(v queue.View) {
		if id := t.clusterID(); v.Setting(queue.SettingClusterID) == "" && id != "" {
			set(queue.SettingClusterID, id)
		}
		if v.Setting(queue.SettingReceiptKey) == "" {
			set(queue.SettingReceiptKey, hex.EncodeToString(key))
		}
		cluster := t.settings
		if window := strconv.Itoa(cluster.MinimumWindowSeconds); v.Setting(queue.SettingMinimumWindow) != window {
			set(queue.SettingMinimumWindow, window)
		}
		// Unset means false, so that false needs no entry in a new cluster.
		if cool := strconv.FormatBool(cluster.AWSCooldowns); v.Setting(queue.SettingAWSCooldowns) != cool &&
			(cluster.AWSCooldowns || v.Setting(queue.SettingAWSCooldowns) != "") {
			set(queue.SettingAWSCooldowns, cool)
		}
	})
	return cmds, nil
}

// errCommandRefused: a command of the leader itself was refused.
var errCommandRefused = errors.New("a command of the leader was refused")

// refuses reports whether a client's command is not taken now, and its outcome.
func (t *tenure) refuses(frame []byte) (o outcome, refused bool) {
	if t.admit == nil {
		return outcome{}, false
	}
	o = t.admit(frame)
	return o, o.verdict != 0
}

// foundingVersion is the format version to found a cluster with.
func (t *tenure) foundingVersion() uint32 {
	if t.founding == nil {
		return fsm.CurrentVersion
	}
	return t.founding()
}

// execute runs a command of the leader itself.
func (t *tenure) execute(ctx context.Context, cmd queue.Command) error {
	response, err := t.executeForResponse(ctx, cmd)
	if err == nil && response.Err != nil {
		err = fmt.Errorf("%w: %w", errCommandRefused, response.Err)
	}
	return err
}

func (t *tenure) executeForResponse(ctx context.Context, cmd queue.Command) (fsm.Response, error) {
	frame, err := fsm.AppendCommand(nil, cmd)
	if err != nil {
		return fsm.Response{}, fmt.Errorf("encoding a command of the leader: %w", err)
	}
	done := make(chan outcome, 1) // one outcome, never blocking the committer
	s := &submission{frame: frame, settle: func(o outcome) { done <- o }}
	t.committer.submitInternal(s)
	select {
	case o := <-done:
		switch o.verdict {
		case answered:
			return o.response, nil
		case outcomeUnknown:
			return fsm.Response{}, fault.ErrOutcomeUnknown
		default:
			return fsm.Response{}, fault.ErrNotLeader
		}
	case <-ctx.Done():
		return fsm.Response{}, ctx.Err()
	}
}

// applied acts on what the state machine just did; it runs on its goroutine.
func (t *tenure) applied(deadline queue.Timestamp, version uint32, events []queue.Event) {
	t.version.Store(version)
	t.ticker.deadlineIs(deadline)
	for i := range events {
		switch event := &events[i]; event.Kind {
		case queue.MessagesAvailable:
			t.polls.available(event.Queue)
		case queue.QueueDeleted:
			t.polls.deleted(event.Queue)
		case queue.MoveTaskAdded:
			t.mover.look()
		case queue.MessagesExpired:
			t.counts.messages.expired.Add(uint64(event.Count))
		case queue.MessagesDeadLettered:
			t.counts.messages.deadLettered.Add(uint64(event.Count))
		}
	}
}
