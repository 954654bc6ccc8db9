package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// logStub stands for the replicated log: it notes entries and lets the test
// decide when, and how, they end.
type logStub struct {
	mu      sync.Mutex
	entries []int // commands per entry
	stamps  []queue.Timestamp
	refuse  error         // of Propose
	lose    error         // of waiting
	hold    chan struct{} // waiting ends when it is closed
	begun   chan struct{} // one token per proposal, as far as there is room
}

func newLogStub() *logStub {
	open := make(chan struct{})
	close(open)
	return &logStub{hold: open, begun: make(chan struct{}, 1024)}
}

func (l *logStub) propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return nil, l.refuse
	}
	commands := 0
	at, err := fsm.DecodeEntry(entry, func([]byte) error { commands++; return nil })
	if err != nil {
		return nil, err
	}
	l.entries, l.stamps = append(l.entries, commands), append(l.stamps, at)
	select {
	case l.begun <- struct{}{}:
	default:
	}
	result := fsm.EntryResult{Index: uint64(len(l.entries)), At: at}
	for range commands {
		result.Responses = append(result.Responses, fsm.Response{Result: queue.Done{}})
	}
	return func() (fsm.EntryResult, error) {
		<-l.hold
		if l.lose != nil {
			return fsm.EntryResult{}, l.lose
		}
		return result, nil
	}, nil
}

func (l *logStub) sizes() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int(nil), l.entries...)
}

// startCommitter runs a committer over the stub; stop ends it and waits.
func startCommitter(t *testing.T, log *logStub, limits RequestLimits) (c *committer, clock *clustertest.HandClock, stop func()) {
	t.Helper()
	clock = clustertest.NewHandClock(1000)
	c = newCommitter(committerConfig{
		propose:       log.propose,
		stamp:         func() queue.Timestamp { return queue.Timestamp(clock.Wall().UnixMilli()) },
		monotonic:     clock.Monotonic,
		formatVersion: func() uint32 { return fsm.CurrentVersion },
		limits:        limits.withDefaults(),
		counts:        newCounters(),
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
	frame, err := fsm.AppendCommand(nil, &queue.AdvanceClock{})
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// submitTo submits a frame and returns where its outcome will be.
func submitTo(c *committer, frame []byte) (*submission, <-chan outcome) {
	done := make(chan outcome, 2) // room to notice a second settling
	s := &submission{frame: frame, settle: func(o outcome) { done <- o }}
	c.submit(s)
	return s, done
}

func outcomeOf(t *testing.T, done <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(30 * time.Second):
		t.Fatal("no outcome")
		return outcome{}
	}
}

func TestCommitterGathersConcurrentCommands(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startCommitter(t, log, RequestLimits{})
	c.open()
	frame := tickFrame(t)
	var answers []<-chan outcome
	_, first := submitTo(c, frame)
	<-log.begun
	for range 1000 {
		_, done := submitTo(c, frame)
		answers = append(answers, done)
	}
	close(log.hold)
	for _, done := range append(answers, first) {
		if o := outcomeOf(t, done); o.verdict != answered || o.at.Index == 0 {
			t.Fatalf("outcome %+v", o)
		}
	}
	// Two entries could leave before the log was released; the rest was
	// waiting then and fits one.
	if sizes := log.sizes(); len(sizes) > 4 {
		t.Fatalf("1001 commands made %d entries: %v", len(sizes), sizes)
	}
}

func TestCommitterBoundsEntriesAndFlights(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, _ := startCommitter(t, log, RequestLimits{})
	big, err := fsm.AppendCommand(nil, &queue.SendMessages{Queue: "q", Entries: []queue.SendEntry{{Body: string(make([]byte, 100<<10))}}})
	if err != nil {
		t.Fatal(err)
	}
	huge, err := fsm.AppendCommand(nil, &queue.SendMessages{Queue: "q", Entries: []queue.SendEntry{{Body: string(make([]byte, 1<<20))}}})
	if err != nil {
		t.Fatal(err)
	}
	var answers []<-chan outcome
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
		if o := outcomeOf(t, done); o.verdict != answered {
			t.Fatalf("outcome %+v", o)
		}
	}
	want := []int{2, 2, 1, batchCommandsMax, 1}
	if got := log.sizes(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("commands per entry %v, want %v", got, want)
	}
}

func TestCommitterOutcomes(t *testing.T) {
	cases := []struct {
		name string
		log  func(*logStub)
		want verdict
	}{
		{"applied", func(*logStub) {}, answered},
		{"refused by the log", func(l *logStub) { l.refuse = fault.ErrNotLeader }, notProposed},
		{"never entered the log", func(l *logStub) { l.lose = fault.ErrNotLeader }, notProposed},
		{"leadership lost while committing", func(l *logStub) { l.lose = fault.ErrOutcomeUnknown }, outcomeUnknown},
		{"another error while committing", func(l *logStub) { l.lose = errors.New("disk") }, outcomeUnknown},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			log := newLogStub()
			test.log(log)
			c, _, _ := startCommitter(t, log, RequestLimits{})
			c.open()
			_, done := submitTo(c, tickFrame(t))
			if o := outcomeOf(t, done); o.verdict != test.want {
				t.Fatalf("verdict %d, want %d", o.verdict, test.want)
			}
		})
	}
}

func TestCommitterRefusesWhatDoesNotFit(t *testing.T) {
	frame := tickFrame(t)
	cases := []struct {
		name   string
		limits RequestLimits
	}{
		{"bytes", RequestLimits{QueueBytes: 3 * len(frame)}},
		{"commands", RequestLimits{QueueCommands: 3}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			c, _, _ := startCommitter(t, newLogStub(), test.limits) // not open: nothing leaves
			var waiting []<-chan outcome
			for range 3 {
				_, done := submitTo(c, frame)
				waiting = append(waiting, done)
			}
			_, done := submitTo(c, frame)
			if o := outcomeOf(t, done); o.verdict != overloaded {
				t.Fatalf("verdict %d, want overloaded", o.verdict)
			}
			c.open()
			for _, done := range waiting {
				if o := outcomeOf(t, done); o.verdict != answered {
					t.Fatalf("verdict %d of a command that fitted", o.verdict)
				}
			}
			_, done = submitTo(c, frame)
			if o := outcomeOf(t, done); o.verdict != answered {
				t.Fatalf("verdict %d after the queue was empty again", o.verdict)
			}
		})
	}
}

func TestCommitterDropsWhatNobodyWantsAnyMore(t *testing.T) {
	log := newLogStub()
	c, clock, _ := startCommitter(t, log, RequestLimits{})
	cancelled, cancelledDone := submitTo(c, tickFrame(t))
	if !cancelled.cancel() {
		t.Fatal("a waiting command could not be cancelled")
	}
	expiring := make(chan outcome, 2)
	c.submit(&submission{frame: tickFrame(t), deadline: time.Second, settle: func(o outcome) { expiring <- o }})
	unreadable := make(chan outcome, 2)
	c.submit(&submission{frame: tickFrame(t), minimumVersion: fsm.CurrentVersion + 1, settle: func(o outcome) { unreadable <- o }})
	wanted, wantedDone := submitTo(c, tickFrame(t))
	clock.Pass(time.Second)
	c.open()
	if o := outcomeOf(t, wantedDone); o.verdict != answered {
		t.Fatalf("verdict %d", o.verdict)
	}
	if wanted.cancel() {
		t.Fatal("a command in the log was reported as cancelled")
	}
	if o := outcomeOf(t, expiring); o.verdict != expired {
		t.Fatalf("verdict %d, want expired", o.verdict)
	}
	if o := outcomeOf(t, unreadable); o.verdict != unsupported {
		t.Fatalf("verdict %d, want unsupported", o.verdict)
	}
	if len(cancelledDone) != 0 {
		t.Fatal("a cancelled command was settled, too")
	}
	if sizes := log.sizes(); fmt.Sprint(sizes) != "[1]" {
		t.Fatalf("commands per entry %v, want only the wanted one", sizes)
	}
}

// What is in flight when leadership ends is the log's to answer; what waits is
// not proposed.
func TestCommitterEnd(t *testing.T) {
	log := newLogStub()
	log.hold = make(chan struct{})
	c, _, stop := startCommitter(t, log, RequestLimits{})
	c.open()
	var flying []<-chan outcome
	for range entriesInFlight {
		_, done := submitTo(c, tickFrame(t))
		flying = append(flying, done)
		<-log.begun
	}
	_, waiting := submitTo(c, tickFrame(t))
	var stopped sync.WaitGroup
	var over atomic.Bool
	stopped.Go(func() { stop(); over.Store(true) })
	if o := outcomeOf(t, waiting); o.verdict != notProposed {
		t.Fatalf("verdict %d of a waiting command, want not proposed", o.verdict)
	}
	if over.Load() {
		t.Fatal("the committer ended with entries in flight")
	}
	close(log.hold)
	stopped.Wait()
	for _, done := range flying {
		if o := outcomeOf(t, done); o.verdict != answered {
			t.Fatalf("verdict %d of an entry in flight", o.verdict)
		}
	}
	_, late := submitTo(c, tickFrame(t))
	if o := outcomeOf(t, late); o.verdict != notProposed {
		t.Fatalf("verdict %d after the end, want not proposed", o.verdict)
	}
}

// What was proposed is not kept by the queue it waited in.
func TestCommitterLetsGoOfWhatItTook(t *testing.T) {
	c := newCommitter(committerConfig{
		monotonic: clustertest.NewHandClock(1000).Monotonic, formatVersion: func() uint32 { return fsm.CurrentVersion },
		limits: RequestLimits{}.withDefaults(), counts: newCounters(),
	})
	c.open()
	for range 100 {
		submitTo(c, tickFrame(t))
	}
	if taken := len(c.takeBatch()); taken != 100 {
		t.Fatalf("%d commands were taken", taken)
	}
	for i, s := range c.waiting[:cap(c.waiting)] {
		if s != nil {
			t.Fatalf("command %d is still there", i)
		}
	}
}

// Commands of the leader itself pass while those of clients wait for the
// take-over to finish.
func TestCommitterOpening(t *testing.T) {
	log := newLogStub()
	c, _, _ := startCommitter(t, log, RequestLimits{})
	_, client := submitTo(c, tickFrame(t))
	own := make(chan outcome, 1)
	c.submitInternal(&submission{frame: tickFrame(t), settle: func(o outcome) { own <- o }})
	if o := outcomeOf(t, own); o.verdict != answered {
		t.Fatalf("verdict %d of the leader's own command", o.verdict)
	}
	if len(client) != 0 {
		t.Fatal("a client's command passed before the committer was open")
	}
	c.open()
	if o := outcomeOf(t, client); o.verdict != answered {
		t.Fatalf("verdict %d of the client's command", o.verdict)
	}
}
