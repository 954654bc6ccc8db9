package leader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Group is what a Term needs of the consensus group that this node leads.
type Group interface {
	// Propose hands one encoded entry to the log. It returns at once when the entry
	// was queued, or with an error when nothing was proposed and never will be. wait
	// blocks until the entry is applied here or its fate is unknown; its error is
	// ErrNotLeader when the entry certainly did not enter the log.
	Propose(entry []byte) (wait func() (fsm.EntryResult, error), err error)
	// Writing reports whether entries are being written here, behind which the next one
	// would wait; ended is called when that is over. It has one caller.
	Writing(ended func()) bool
	// Barrier waits until everything committed before the call is applied here.
	Barrier(ctx context.Context) error
	// LeaderTerm is the term in which this node leads right now.
	LeaderTerm() (term uint64, leads bool)
	// ConfirmLeadership proves that, at some moment after the call, no other node
	// had been elected in a later term than this one, in which this node leads.
	ConfirmLeadership(ctx context.Context, term uint64) error
	// CommitIndex is the highest index known to be committed.
	CommitIndex() uint64
	// WaitApplied waits until every entry up to index is applied here.
	WaitApplied(ctx context.Context, index uint64) error
}

// Options are what a Term works with.
type Options struct {
	Group     Group
	Term      uint64 // in which this node leads
	Replica   *fsm.FSM
	ClusterID func() string
	Clock     environment.Clock
	Limits    Limits
	Settings  Settings
	Entropy   io.Reader
	Counters  *Counters
	Log       *slog.Logger

	// Refuse gives the outcome of a client's command that is not taken now, a zero
	// Verdict for all others; nil: all are taken.
	Refuse func(frame []byte) Outcome
	// InitialFormat is the format version of a new cluster; nil: this program's.
	InitialFormat func() uint32
	// ClocksKnown is closed once Clock was compared with those of a majority; nil: it
	// need not be.
	ClocksKnown <-chan struct{}
	// ClockStepMax is how far log time may step by the word of Clock alone.
	ClockStepMax time.Duration
	// Poster makes the deliveries over HTTP; nil: they wait.
	Poster environment.Poster
	// FirstKey makes the first access key of a new cluster; nil: it has none.
	FirstKey environment.FirstKey
	// Secrets seals that key and opens it again; nil: it is written in clear.
	Secrets Secrets
	// Jobs are what else the node does while it leads. They run from when clients
	// are served until ctx ends, which End awaits.
	Jobs []func(ctx context.Context, t *Term)
}

// Term is one term of this node as leader: everything only a leader does. Its
// methods are safe for concurrent use.
type Term struct {
	options   Options
	logTime   logClock
	committer *groupCommitter
	reads     *sharedCall[uint64]   // commit indexes with proof of leadership: ReadIndex
	pastDue   *sharedCall[struct{}] // the log time has passed everything due
	waiting   *waitingReceives
	deadlines *deadlines
	moveTasks *stepRunner
	replays   *stepRunner
	outbox    *outboxRunner
	version   atomic.Uint32 // format version of the state

	// exclusive takes work to be done between this Term and the next one. It is
	// unbuffered: the goroutine that follows the leadership of this node takes work
	// when it begins it.
	exclusive chan func()

	serving chan struct{}   // closed when clients may be served
	lost    <-chan struct{} // closed when leadership is lost or given up
	stop    context.CancelFunc
	running sync.WaitGroup // everything the Term runs
}

// Begin begins a leader term; ctx bounds its life.
func Begin(ctx context.Context, options Options) *Term {
	ctx, cancel := context.WithCancel(ctx)
	t := &Term{
		options:   options,
		waiting:   newWaitingReceives(options.Limits.WaitingReceives),
		exclusive: make(chan func()),
		serving:   make(chan struct{}),
		lost:      ctx.Done(),
		stop:      cancel,
	}
	t.logTime.clock = options.Clock
	t.committer = newGroupCommitter(groupCommitterOptions{
		propose:       options.Group.Propose,
		writing:       options.Group.Writing,
		stamp:         t.logTime.now,
		monotonic:     options.Clock.Monotonic,
		formatVersion: t.version.Load,
		term:          options.Term,
		limits:        options.Limits,
		counters:      options.Counters,
	})
	t.reads = newSharedCall(t.confirmIndex, fault.ErrNotLeader)
	t.pastDue = newSharedCall(t.advanceClock, fault.ErrNotLeader)
	t.deadlines = newDeadlines(t)
	t.moveTasks = newStepRunner(t, moveTasks)
	t.replays = newStepRunner(t, replays)
	t.outbox = newOutboxRunner(t)
	t.running.Go(func() { t.committer.run(ctx) })
	t.running.Go(func() { t.run(ctx) })
	return t
}

// End ends the term: nothing is proposed any more, and what was not proposed is
// completed as such. It returns when the last entry in flight is answered.
func (t *Term) End() {
	t.stop()
	t.running.Wait()
}

// run takes over, then serves clients and runs the jobs until ctx ends.
func (t *Term) run(ctx context.Context) {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	jobs.Go(func() { t.pastDue.run(ctx) })
	if !t.takeOver(ctx) {
		t.reads.end()
		return
	}
	jobs.Go(func() { t.reads.run(ctx) })
	jobs.Go(func() { t.deadlines.run(ctx) })
	jobs.Go(func() { t.moveTasks.run(ctx) })
	jobs.Go(func() { t.replays.run(ctx) })
	jobs.Go(func() { t.outbox.run(ctx) })
	jobs.Go(func() {
		<-ctx.Done()
		t.waiting.end()
	})
	t.committer.open()
	close(t.serving)
	for _, job := range t.options.Jobs {
		jobs.Go(func() { job(ctx, t) })
	}
	t.options.Log.Info("leading", "clock", t.logTime.now())
}

// Number is that of the term.
func (t *Term) Number() uint64 { return t.options.Term }

// Serves reports whether the leader has taken over and serves clients.
func (t *Term) Serves() bool {
	select {
	case <-t.serving:
		return true
	default:
		return false
	}
}

// WaitingReceives counts the receives that wait for a message.
func (t *Term) WaitingReceives() int { return t.waiting.number() }

// Queued is what waits to be proposed.
func (t *Term) Queued() (bytes, commands int) { return t.committer.queued() }

// Applied acts on what the state machine just did: deadline and version are the
// next deadline and the format version of the state. It runs on the state machine's
// goroutine.
func (t *Term) Applied(deadline queue.Timestamp, version uint32, events []queue.Event) {
	t.version.Store(version)
	t.deadlines.next(deadline)
	for i := range events {
		switch event := &events[i]; event.Kind {
		case queue.MessagesAvailable:
			t.waiting.available(waitingPlace{Queue: event.Queue})
			t.waiting.available(waitingPlace{Queue: event.Queue, Accept: true})
		case queue.SessionAvailable:
			t.waiting.available(waitingPlace{Queue: event.Queue, Session: event.Session})
		case queue.TopicDeliveriesDeduplicated:
			t.options.Counters.Deduplicated.add(event.Topic, event.Queue, event.Count, t.options.Clock.Monotonic())
		case queue.TopicDeliveriesDeadLettered:
			t.options.Counters.Undeliverable.add(event.Topic, event.Queue, event.Count, t.options.Clock.Monotonic())
		case queue.TopicDeliveriesLost:
			t.options.Counters.Lost.add(event.Topic, event.Queue, event.Count, t.options.Clock.Monotonic())
		case queue.QueueDeleted:
			t.waiting.deleted(event.Queue)
		case queue.MoveTaskAdded:
			t.moveTasks.added.Notify()
		case queue.ReplayAdded:
			t.replays.added.Notify()
		case queue.DeliveryAdded:
			t.outbox.add(event.Subscription)
		case queue.MessagesExpired:
			t.options.Counters.Queues.Add(event.Queue, ExpiredMessages, uint64(event.Count))
		case queue.MessagesDeadLettered:
			t.options.Counters.Queues.Add(event.Queue, DeadLettered, uint64(event.Count))
		case queue.MessageDeleted:
			t.options.Counters.Sojourn.Observe(float64(event.Age) / float64(logtime.Second))
		}
	}
}

// Enqueue takes a client's command into the queue of the group committer, unless it
// is refused now.
func (t *Term) Enqueue(s *Submission) {
	s.essential = Essential(s.Frame)
	if o, refused := t.refuses(s.Frame); refused {
		s.refuse(o)
		return
	}
	t.enqueue(s)
}

// refuses reports whether a client's command is not taken now, and its outcome.
func (t *Term) refuses(frame []byte) (o Outcome, refused bool) {
	if t.options.Refuse == nil {
		return Outcome{}, false
	}
	o = t.options.Refuse(frame)
	return o, o.Verdict != 0
}

// Submit enqueues a client's command and waits. A command whose ctx ends first, or that is Over, is
// not proposed any more, or its outcome is unknown.
func (t *Term) Submit(ctx context.Context, request Request) Outcome {
	if ctx.Err() != nil {
		return Outcome{Verdict: Expired}
	}
	done := make(chan Outcome, 1) // one outcome, never blocking the group committer
	s := &Submission{Request: request, Complete: func(o Outcome) { done <- o }}
	t.Enqueue(s)
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
		return s.abandon()
	case <-request.Over:
		return s.abandon()
	}
}

// errCommandRefused: a command of the leader itself was refused.
var errCommandRefused = errors.New("a command of the leader was refused")

// Execute runs a command of the leader itself.
func (t *Term) Execute(ctx context.Context, cmd queue.Command) error {
	response, err := t.executeForResponse(ctx, cmd)
	if err == nil && response.Err != nil {
		err = fmt.Errorf("%w: %w", errCommandRefused, response.Err)
	}
	return err
}

func (t *Term) executeForResponse(ctx context.Context, cmd queue.Command) (codec.Response, error) {
	frame, err := codec.AppendCommand(nil, cmd)
	if err != nil {
		return codec.Response{}, fmt.Errorf("encoding a command of the leader: %w", err)
	}
	done := make(chan Outcome, 1) // one outcome, never blocking the group committer
	t.committer.submitInternal(&Submission{Request: Request{Frame: frame}, Complete: func(o Outcome) { done <- o }})
	select {
	case o := <-done:
		switch o.Verdict {
		case Answered:
			return o.Response, nil
		case Unknown:
			return codec.Response{}, fault.ErrOutcomeUnknown
		default:
			return codec.Response{}, fault.ErrNotLeader
		}
	case <-ctx.Done():
		return codec.Response{}, ctx.Err()
	}
}

// Hold waits until no entry is in flight and lets none start until release.
func (t *Term) Hold(ctx context.Context) (release func(), err error) { return t.committer.hold(ctx) }

// RunExclusively has work done between this Term and the next one: everything that
// was proposed is answered by then, and nothing else is proposed meanwhile. It
// returns when the work begins. The error is ErrNotLeader, or that of ctx.
func (t *Term) RunExclusively(ctx context.Context, work func()) error {
	select {
	case t.exclusive <- work:
		return nil
	case <-t.lost:
		return fault.ErrNotLeader
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ExclusiveWork delivers work of RunExclusively. The receiver must end the Term, do
// the work, and begin another Term if the node still leads.
func (t *Term) ExclusiveWork() <-chan func() { return t.exclusive }
