package leader

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// logStub is a log that records entries. The test decides when and how they end.
type logStub struct {
	mu      sync.Mutex
	entries []int // commands per entry
	stamps  []queue.Timestamp
	refuse  error         // error of Propose
	lose    error         // error of waiting
	hold    chan struct{} // waiting ends when it is closed
	begun   chan struct{} // one token per proposal, while there is room

	diskHeld bool   // entries are being written
	written  func() // called when the disk is free
	asked    chan struct{}
}

func newLogStub() *logStub {
	open := make(chan struct{})
	close(open)
	return &logStub{hold: open, begun: make(chan struct{}, 1024), asked: make(chan struct{}, 1)}
}

func (l *logStub) propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return nil, l.refuse
	}
	commands := 0
	head, err := codec.DecodeEntry(entry, func([]byte) error { commands++; return nil })
	if err != nil {
		return nil, err
	}
	l.entries, l.stamps = append(l.entries, commands), append(l.stamps, head.At)
	select {
	case l.begun <- struct{}{}:
	default:
	}
	result := fsm.EntryResult{Index: uint64(len(l.entries)), At: head.At}
	for range commands {
		result.Responses = append(result.Responses, codec.Response{Result: queue.Done{}})
	}
	return func() (fsm.EntryResult, error) {
		<-l.hold
		if l.lose != nil {
			return fsm.EntryResult{}, l.lose
		}
		return result, nil
	}, nil
}

// writes lets the next entry leave, unless the test holds the disk.
func (l *logStub) writes(ended func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = ended
	select {
	case l.asked <- struct{}{}:
	default:
	}
	return l.diskHeld
}

// awaitAsked waits until the group committer has called writes.
func (l *logStub) awaitAsked(t *testing.T) {
	t.Helper()
	select {
	case <-l.asked:
	case <-t.Context().Done():
		t.Fatal("nobody asks for the disk")
	}
}

// holdDisk sets whether the disk is busy.
func (l *logStub) holdDisk(held bool) {
	l.mu.Lock()
	l.diskHeld = held
	ended := l.written
	l.mu.Unlock()
	if !held && ended != nil {
		ended()
	}
}

func (l *logStub) sizes() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int(nil), l.entries...)
}

// startGroupCommitter runs a group committer over log; stop ends it and waits.
func startGroupCommitter(t *testing.T, log *logStub, limits Limits) (c *groupCommitter, clock *clustertest.HandClock, stop func()) {
	t.Helper()
	clock = clustertest.NewHandClock(1000)
	c = newGroupCommitter(groupCommitterOptions{
		propose:       log.propose,
		writing:       log.writes,
		stamp:         func() queue.Timestamp { return queue.Timestamp(clock.Wall().UnixMilli()) },
		monotonic:     clock.Monotonic,
		formatVersion: func() uint32 { return format.CurrentVersion },
		limits:        limits.WithDefaults(),
		counters:      NewCounters(0),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return c, clock, stop
}

func tickFrame(t *testing.T) []byte {
	t.Helper()
	frame, err := codec.AppendCommand(nil, &queue.AdvanceClock{})
	clustertest.Must(t, err)
	return frame
}

// submitTo submits a frame and returns the channel for its outcome.
func submitTo(c *groupCommitter, frame []byte) (*Submission, <-chan Outcome) {
	done := make(chan Outcome, 2) // room for a wrong second outcome
	s := &Submission{Request: Request{Frame: frame}, Complete: func(o Outcome) { done <- o }}
	c.submit(s)
	return s, done
}

func outcomeOf(t *testing.T, done <-chan Outcome) Outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(30 * time.Second):
		t.Fatal("no outcome")
		return Outcome{}
	}
}

func TestGroupCommitterGathersConcurrentCommands(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startGroupCommitter(t, log, Limits{})
	c.open()
	frame := tickFrame(t)
	var answers []<-chan Outcome
	_, first := submitTo(c, frame)
	<-log.begun
	for range 1000 {
		_, done := submitTo(c, frame)
		answers = append(answers, done)
	}
	close(log.hold)
	for _, done := range append(answers, first) {
		if o := outcomeOf(t, done); o.Verdict != Answered || o.At.Index == 0 {
			t.Fatalf("outcome %+v", o)
		}
	}
	// Two entries could leave before the log was released; the remaining commands fit one.
	if sizes := log.sizes(); len(sizes) > 4 {
		t.Fatalf("1001 commands made %d entries: %v", len(sizes), sizes)
	}
}

func TestGroupCommitterBoundsEntriesAndFlights(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startGroupCommitter(t, log, Limits{})
	big, err := codec.AppendCommand(nil, &queue.SendMessages{Queue: "q", Entries: []queue.SendEntry{{Body: string(make([]byte, 100<<10))}}})
	clustertest.Must(t, err)
	huge, err := codec.AppendCommand(nil, &queue.SendMessages{Queue: "q", Entries: []queue.SendEntry{{Body: string(make([]byte, 1<<20))}}})
	clustertest.Must(t, err)
	var answers []<-chan Outcome
	for range 4 {
		_, done := submitTo(c, big)
		answers = append(answers, done)
	}
	_, done := submitTo(c, huge)
	answers = append(answers, done)
	for range batchCommandsMax + 1 {
		_, done := submitTo(c, tickFrame(t))
		answers = append(answers, done)
	}
	c.open()
	<-log.begun
	<-log.begun
	if n := len(log.sizes()); n > entriesInFlight {
		t.Fatalf("%d entries in flight, want at most %d", n, entriesInFlight)
	}
	close(log.hold)
	for _, done := range answers {
		if o := outcomeOf(t, done); o.Verdict != Answered {
			t.Fatalf("outcome %+v", o)
		}
	}
	want := []int{2, 2, 1, batchCommandsMax, 1}
	if got := log.sizes(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("commands per entry %v, want %v", got, want)
	}
}

func TestGroupCommitterOutcomes(t *testing.T) {
	cases := []struct {
		name string
		log  func(*logStub)
		want Verdict
	}{
		{"applied", func(*logStub) {}, Answered},
		{"refused by the log", func(l *logStub) { l.refuse = fault.ErrNotLeader }, NotProposed},
		{"never entered the log", func(l *logStub) { l.lose = fault.ErrNotLeader }, NotProposed},
		{"leadership lost while committing", func(l *logStub) { l.lose = fault.ErrOutcomeUnknown }, Unknown},
		{"another error while committing", func(l *logStub) { l.lose = errors.New("disk") }, Unknown},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			log := newLogStub()
			test.log(log)
			c, _, _ := startGroupCommitter(t, log, Limits{})
			c.open()
			_, done := submitTo(c, tickFrame(t))
			if o := outcomeOf(t, done); o.Verdict != test.want {
				t.Fatalf("verdict %d, want %d", o.Verdict, test.want)
			}
		})
	}
}

func TestGroupCommitterRefusesWhatDoesNotFit(t *testing.T) {
	frame := tickFrame(t)
	cases := []struct {
		name   string
		limits Limits
	}{
		{"bytes", Limits{QueueBytes: 3 * len(frame)}},
		{"commands", Limits{QueueCommands: 3}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			c, _, _ := startGroupCommitter(t, newLogStub(), test.limits) // until open, nothing is proposed
			var waiting []<-chan Outcome
			for range 3 {
				_, done := submitTo(c, frame)
				waiting = append(waiting, done)
			}
			_, done := submitTo(c, frame)
			if o := outcomeOf(t, done); o.Verdict != Overloaded {
				t.Fatalf("verdict %d, want overloaded", o.Verdict)
			}
			c.open()
			for _, done := range waiting {
				if o := outcomeOf(t, done); o.Verdict != Answered {
					t.Fatalf("verdict %d of a command that fitted", o.Verdict)
				}
			}
			_, done = submitTo(c, frame)
			if o := outcomeOf(t, done); o.Verdict != Answered {
				t.Fatalf("verdict %d after the queue was empty again", o.Verdict)
			}
		})
	}
}

func TestGroupCommitterDropsWhatNobodyWantsAnyMore(t *testing.T) {
	log := newLogStub()
	c, clock, _ := startGroupCommitter(t, log, Limits{})
	cancelled, cancelledDone := submitTo(c, tickFrame(t))
	if !cancelled.Cancel() {
		t.Fatal("a waiting command could not be cancelled")
	}
	expiring := make(chan Outcome, 2)
	c.submit(&Submission{Request: Request{Frame: tickFrame(t), Deadline: time.Second}, Complete: func(o Outcome) { expiring <- o }})
	unreadable := make(chan Outcome, 2)
	c.submit(&Submission{Request: Request{Frame: tickFrame(t), MinimumVersion: format.CurrentVersion + 1},
		Complete: func(o Outcome) { unreadable <- o }})
	wanted, wantedDone := submitTo(c, tickFrame(t))
	clock.Pass(time.Second)
	c.open()
	if o := outcomeOf(t, wantedDone); o.Verdict != Answered {
		t.Fatalf("verdict %d", o.Verdict)
	}
	if wanted.Cancel() {
		t.Fatal("a command in the log was reported as cancelled")
	}
	if o := outcomeOf(t, expiring); o.Verdict != Expired {
		t.Fatalf("verdict %d, want expired", o.Verdict)
	}
	if o := outcomeOf(t, unreadable); o.Verdict != Unsupported {
		t.Fatalf("verdict %d, want unsupported", o.Verdict)
	}
	if len(cancelledDone) != 0 {
		t.Fatal("a cancelled command was completed, too")
	}
	if sizes := log.sizes(); fmt.Sprint(sizes) != "[1]" {
		t.Fatalf("commands per entry %v, want only the wanted one", sizes)
	}
}

// While the leader writes an entry, the next one waits, however many commands it has, and leaves
// when the disk is free.
func TestGroupCommitterWaitsWhileTheLeaderWrites(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startGroupCommitter(t, log, Limits{})
	_, done := submitTo(c, tickFrame(t))
	answers := []<-chan Outcome{done}
	log.holdDisk(true)
	c.open() // nothing is in flight: a lone command does not wait
	<-log.begun
	for range 5 {
		_, done := submitTo(c, tickFrame(t))
		answers = append(answers, done)
		log.awaitAsked(t)
	}
	if sizes := log.sizes(); fmt.Sprint(sizes) != "[1]" {
		t.Errorf("commands per entry %v while the first is written", sizes)
	}
	log.holdDisk(false)
	<-log.begun
	close(log.hold)
	for _, done := range answers {
		if o := outcomeOf(t, done); o.Verdict != Answered {
			t.Fatalf("verdict %d", o.Verdict)
		}
	}
	if sizes := log.sizes(); fmt.Sprint(sizes) != "[1 5]" {
		t.Errorf("commands per entry %v, want all that came meanwhile in one", sizes)
	}
}

// With an entry in flight, the next one leaves once it is as large, at the latest when the first is
// applied.
func TestSecondEntryWaitsForItsSize(t *testing.T) {
	const first = 3
	for _, waiting := range []int{1, first - 1, first, 2*first - 1} {
		t.Run(fmt.Sprint(waiting), func(t *testing.T) {
			log := newLogStub()
			log.hold = make(chan struct{})
			c, _, _ := startGroupCommitter(t, log, Limits{})
			var answers []<-chan Outcome
			submit := func(commands int) {
				for range commands {
					_, done := submitTo(c, tickFrame(t))
					answers = append(answers, done)
				}
			}
			submit(first)
			c.open()
			<-log.begun
			want := []int{first, waiting}
			submit(min(waiting, first))
			if waiting >= first {
				<-log.begun
				submit(waiting - first) // no slot is left
				want = append([]int{first, first}, []int{waiting - first}[:min(1, waiting-first)]...)
			}
			close(log.hold)
			for _, done := range answers {
				if o := outcomeOf(t, done); o.Verdict != Answered {
					t.Fatalf("verdict %d", o.Verdict)
				}
			}
			if got := log.sizes(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("commands per entry %v, want %v", got, want)
			}
		})
	}
}

// A full entry leaves although the one in flight holds more commands.
func TestFullSecondEntryLeaves(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startGroupCommitter(t, log, Limits{})
	for range 100 {
		submitTo(c, tickFrame(t))
	}
	c.open()
	<-log.begun
	big, err := codec.AppendCommand(nil,
		&queue.SendMessages{Queue: "q", Entries: []queue.SendEntry{{Body: string(make([]byte, batchBytesMax/2))}}})
	clustertest.Must(t, err)
	submitTo(c, big)
	_, last := submitTo(c, big)
	<-log.begun
	close(log.hold)
	if o := outcomeOf(t, last); o.Verdict != Answered {
		t.Fatalf("verdict %d", o.Verdict)
	}
}

// Commands that wait during a hold leave when it ends, even if no other command follows.
func TestGroupCommitterContinuesAfterAHold(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startGroupCommitter(t, log, Limits{})
	for range 2 {
		submitTo(c, tickFrame(t))
	}
	c.open()
	<-log.begun
	_, waiting := submitTo(c, tickFrame(t))
	held := make(chan func(), 1)
	go func() {
		release, err := c.hold(t.Context())
		clustertest.Check(t, err)
		held <- release
	}()
	for len(c.slots) < entriesInFlight { // until hold has taken the free slot
		runtime.Gosched()
	}
	close(log.hold)
	release := <-held
	entries := len(log.sizes()) // the second command may have preceded the hold
	_, late := submitTo(c, tickFrame(t))
	if now := len(log.sizes()); now != entries {
		t.Fatalf("%d entries left while held", now-entries)
	}
	release()
	for _, done := range []<-chan Outcome{waiting, late} {
		if o := outcomeOf(t, done); o.Verdict != Answered {
			t.Fatalf("verdict %d", o.Verdict)
		}
	}
}

// When leadership ends, entries in flight get their outcome from the log; waiting commands are not
// proposed.
func TestGroupCommitterEnd(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, stop := startGroupCommitter(t, log, Limits{})
	c.open()
	var inFlight []<-chan Outcome
	for range entriesInFlight {
		_, done := submitTo(c, tickFrame(t))
		inFlight = append(inFlight, done)
		<-log.begun
	}
	_, waiting := submitTo(c, tickFrame(t))
	var stopped sync.WaitGroup
	var over atomic.Bool
	stopped.Go(func() { stop(); over.Store(true) })
	if o := outcomeOf(t, waiting); o.Verdict != NotProposed {
		t.Fatalf("verdict %d of a waiting command, want not proposed", o.Verdict)
	}
	if over.Load() {
		t.Fatal("the group committer ended with entries in flight")
	}
	close(log.hold)
	stopped.Wait()
	for _, done := range inFlight {
		if o := outcomeOf(t, done); o.Verdict != Answered {
			t.Fatalf("verdict %d of an entry in flight", o.Verdict)
		}
	}
	_, late := submitTo(c, tickFrame(t))
	if o := outcomeOf(t, late); o.Verdict != NotProposed {
		t.Fatalf("verdict %d after the end, want not proposed", o.Verdict)
	}
}

// The queue keeps no reference to proposed commands.
func TestGroupCommitterReleasesProposedCommands(t *testing.T) {
	c := newGroupCommitter(groupCommitterOptions{
		monotonic: clustertest.NewHandClock(1000).Monotonic, formatVersion: func() uint32 { return format.CurrentVersion },
		limits: Limits{}.WithDefaults(), counters: NewCounters(0),
	})
	c.open()
	for range 100 {
		submitTo(c, tickFrame(t))
	}
	if taken := len(c.nextBatch()); taken != 100 {
		t.Fatalf("%d commands were taken", taken)
	}
	for i, s := range c.waiting[:cap(c.waiting)] {
		if s != nil {
			t.Fatalf("command %d is still there", i)
		}
	}
}

// Commands of the leader itself are proposed while those of clients wait for the take-over.
func TestGroupCommitterOpening(t *testing.T) {
	log := newLogStub()
	c, _, _ := startGroupCommitter(t, log, Limits{})
	_, client := submitTo(c, tickFrame(t))
	own := make(chan Outcome, 1)
	c.submitInternal(&Submission{Request: Request{Frame: tickFrame(t)}, Complete: func(o Outcome) { own <- o }})
	if o := outcomeOf(t, own); o.Verdict != Answered {
		t.Fatalf("verdict %d of the leader's own command", o.Verdict)
	}
	if len(client) != 0 {
		t.Fatal("a client's command passed before the group committer was open")
	}
	c.open()
	if o := outcomeOf(t, client); o.Verdict != Answered {
		t.Fatalf("verdict %d of the client's command", o.Verdict)
	}
}

// Under overload, the queue keeps room for receives and deletes.
func TestOverloadKeepsRoomForReceives(t *testing.T) {
	frame := tickFrame(t)
	c, _, _ := startGroupCommitter(t, newLogStub(), Limits{QueueCommands: 4}) // not open: nothing leaves
	submit := func(essential bool) <-chan Outcome {
		done := make(chan Outcome, 1)
		c.submit(&Submission{Request: Request{Frame: frame}, essential: essential, Complete: func(o Outcome) { done <- o }})
		return done
	}
	var waiting []<-chan Outcome
	for range 4 {
		waiting = append(waiting, submit(false))
	}
	if o := <-submit(false); o.Verdict != Overloaded {
		t.Fatalf("verdict %d of the send that is one too many", o.Verdict)
	}
	waiting = append(waiting, submit(true))
	if o := <-submit(true); o.Verdict != Overloaded {
		t.Fatalf("verdict %d, there is no end to the queue", o.Verdict)
	}
	c.open()
	for _, done := range waiting {
		if o := outcomeOf(t, done); o.Verdict != Answered {
			t.Errorf("verdict %d of a command that fitted", o.Verdict)
		}
	}
}
