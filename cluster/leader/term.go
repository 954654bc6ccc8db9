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

// Group is the consensus group that this node leads.
type Group interface {
	// Propose queues one encoded entry for the log and returns at once. An error means that the
	// entry never enters the log. wait blocks until the entry is applied here or its outcome is
	// unknown; its error is ErrNotLeader if the entry certainly did not enter the log.
	Propose(entry []byte) (wait func() (fsm.EntryResult, error), err error)
	// Writing reports whether the disk is busy with entries, so that the next one would wait; it
	// calls ended when the disk is free. It has one caller.
	Writing(ended func()) bool
	// Barrier waits until everything committed before the call is applied here.
	Barrier(ctx context.Context) error
	// LeaderTerm returns the term in which this node leads now.
	LeaderTerm() (term uint64, leads bool)
	// ConfirmLeadership proves that at some moment after the call no node was elected in a later
	// term than term, in which this node leads.
	ConfirmLeadership(ctx context.Context, term uint64) error
	// CommitIndex returns the highest index known to be committed.
	CommitIndex() uint64
	// WaitApplied waits until every entry up to index is applied here.
	WaitApplied(ctx context.Context, index uint64) error
}

// Options configure a Term.
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

	// Refuse returns the outcome of a client's command that is refused now, or a zero Verdict to
	// accept it; nil accepts all.
	Refuse func(frame []byte) Outcome
	// InitialFormat returns the format version of a new cluster; nil: this program's.
	InitialFormat func() uint32
	// ClocksKnown is closed once Clock was compared with those of a majority; nil: no comparison is
	// needed.
	ClocksKnown <-chan struct{}
	// ClockStepMax is the largest step of log time that Clock alone may cause.
	ClockStepMax time.Duration
	// Poster makes the deliveries over HTTP; nil: they wait.
	Poster Poster
	// FirstKey makes the first access key of a new cluster; nil: it has none.
	FirstKey FirstKey
	// Secrets seals and opens the first access key; nil: it is stored in clear text.
	Secrets Secrets
	// Jobs run while clients are served, until ctx ends. End waits for them.
	Jobs []func(ctx context.Context, t *Term)
}

// Term is one term of this node as leader. Its methods are safe for concurrent use.
type Term struct {
	options   Options
	logTime   logClock
	committer *groupCommitter
	reads     *sharedCall[uint64]   // confirmed commit indexes: ReadIndex
	pastDue   *sharedCall[struct{}] // completes when log time has passed all due deadlines
	waiting   *waitingReceives
	deadlines *deadlines
	moveTasks *stepRunner
	replays   *stepRunner
	outbox    *outboxRunner
	version   atomic.Uint32   // format version of the state
	since     queue.Timestamp // at which the term began to serve

	// exclusive carries work to do between this Term and the next one. It is unbuffered: a sender
	// knows that the receiver has begun the work.
	exclusive chan func()

	serving chan struct{}   // closed when clients may be served
	lost    <-chan struct{} // closed when leadership is lost or handed over
	stop    context.CancelFunc
	running sync.WaitGroup // all goroutines of the Term
}

// Begin begins a term, which ends with ctx.
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

// End ends the term: commands that were not proposed are completed as such. It returns when the
// last entry in flight is answered.
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
	t.since = t.logTime.now()
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

// Number returns the number of the term.
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

// WaitingReceives returns the number of waiting receives.
func (t *Term) WaitingReceives() int { return t.waiting.number() }

// Queued returns the bytes and commands that wait to be proposed.
func (t *Term) Queued() (bytes, commands int) { return t.committer.queued() }

// Applied handles the events of an applied entry. deadline is the next deadline of the state,
// version its format version. It runs on the goroutine of the state machine.
func (t *Term) Applied(deadline queue.Timestamp, version uint32, events []queue.Event) {
	t.version.Store(version)
	t.deadlines.next(deadline)
	for i := range events {
		switch event := &events[i]; event.Kind {
		case queue.MessagesAvailable:
			t.waiting.available(codec.WaitingPlace{Queue: event.Queue})
			t.waiting.available(codec.WaitingPlace{Queue: event.Queue, Accept: true})
		case queue.SessionAvailable:
			t.waiting.available(codec.WaitingPlace{Queue: event.Queue, Session: event.Session})
		case queue.TopicDeliveriesDeduplicated:
			t.options.Counters.Deduplicated.add(event.Topic, event.Queue, event.Count, t.options.Clock.Monotonic())
		case queue.TopicDeliveriesDeadLettered:
			t.options.Counters.Undeliverable.add(event.Topic, event.Queue, event.Count, t.options.Clock.Monotonic())
		case queue.TopicDeliveriesLost:
			t.options.Counters.Lost.add(event.Topic, event.Queue, event.Count, t.options.Clock.Monotonic())
		case queue.QueueDeleted:
			t.waiting.deleted(event.Queue)
		case queue.IdleDeleted:
			t.options.Log.Info("deleted what was idle", "queue", event.Queue, "topic", event.Topic)
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

// Enqueue queues a client's command for the group committer, unless Options.Refuse refuses it.
func (t *Term) Enqueue(s *Submission) {
	s.essential = Essential(s.Frame)
	if o, refused := t.refuses(s.Frame); refused {
		s.refuse(o)
		return
	}
	t.enqueue(s)
}

// refuses returns the outcome of a client's command if it is refused now.
func (t *Term) refuses(frame []byte) (o Outcome, refused bool) {
	if t.options.Refuse == nil {
		return Outcome{}, false
	}
	o = t.options.Refuse(frame)
	return o, o.Verdict != 0
}

// Submit enqueues a client's command and waits. If ctx ends or Over closes first, the command is
// never proposed or its outcome is unknown.
func (t *Term) Submit(ctx context.Context, request Request) Outcome {
	if ctx.Err() != nil {
		return Outcome{Verdict: Expired}
	}
	done := make(chan Outcome, 1) // never blocks the group committer
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
	done := make(chan Outcome, 1) // never blocks the group committer
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

// RunExclusively runs work between this Term and the next one: all proposed entries are answered by
// then, and no other is proposed meanwhile. It returns when the work begins. The error is
// ErrNotLeader or that of ctx.
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

// ExclusiveWork delivers the work of RunExclusively. The receiver must end the Term, do the work,
// and begin another Term if the node still leads.
func (t *Term) ExclusiveWork() <-chan func() { return t.exclusive }
