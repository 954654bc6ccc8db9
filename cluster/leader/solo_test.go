package leader

import (
	"context"
	"crypto/rand"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// fifoSuffix ends the names of FIFO queues and of no others.
const fifoSuffix = ".fifo"

// soloGroup is a Group with one member, a log in memory and a real state machine. Its tests run in
// a bubble, which cannot wait for disks or networks.
type soloGroup struct {
	machine *fsm.FSM
	entries chan soloProposal // applied in order by run
	stopped chan struct{}

	mu      sync.Mutex
	last    uint64
	deposed bool
	// confirmed counts confirmations of leadership.
	confirmed int
	// confirmTakes is the duration of a confirmation.
	confirmTakes time.Duration
}

type soloProposal struct {
	index  uint64
	data   []byte
	result chan fsm.EntryResult // capacity 1: the only result
}

func (p soloProposal) wait() (fsm.EntryResult, error) {
	result, ok := <-p.result
	if !ok {
		return result, fault.ErrOutcomeUnknown
	}
	return result, nil
}

func (g *soloGroup) run() {
	defer close(g.stopped)
	for p := range g.entries {
		result := g.machine.Apply(&raft.Log{Index: p.index, Term: 1, Type: raft.LogCommand, Data: p.data})
		p.result <- result.(fsm.EntryResult)
	}
}

func (g *soloGroup) Propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.deposed {
		return nil, fault.ErrNotLeader
	}
	g.last++
	p := soloProposal{index: g.last, data: entry, result: make(chan fsm.EntryResult, 1)}
	g.entries <- p
	return p.wait, nil
}

// Writing reports false: entries are written at once.
func (g *soloGroup) Writing(func()) bool { return false }

func (g *soloGroup) LeaderTerm() (uint64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return 1, !g.deposed
}

func (g *soloGroup) ConfirmLeadership(context.Context, uint64) error {
	time.Sleep(g.confirmTakes) // of the bubble's time
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confirmed++
	if g.deposed {
		return fault.ErrNotLeader
	}
	return nil
}

func (g *soloGroup) CommitIndex() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last
}

// depose makes the group refuse everything.
func (g *soloGroup) depose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deposed = true
}

// WaitApplied waits; in a bubble, every entry is applied without time passing.
func (g *soloGroup) WaitApplied(ctx context.Context, index uint64) error {
	for g.machine.AppliedIndex() < index {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		runtime.Gosched()
	}
	return nil
}

func (g *soloGroup) Barrier(context.Context) error { return nil }

// solo is a Term on a soloGroup.
type solo struct {
	*Term
	changing sync.Mutex // held while another Term replaces this one

	t     *testing.T
	group *soloGroup
}

// startSolo begins a Term and waits until it serves. The Term ends with the test.
func startSolo(t *testing.T, change ...func(*Options)) *solo {
	t.Helper()
	s := &solo{t: t, group: &soloGroup{entries: make(chan soloProposal, 1024), stopped: make(chan struct{})}}
	s.group.machine = fsm.New(fsm.Options{
		StateLock: new(sync.RWMutex),
		Applied: func(_ uint64, _ queue.Timestamp, events []queue.Event) {
			broker := s.group.machine.Broker()
			s.changing.Lock()
			defer s.changing.Unlock()
			s.Applied(broker.NextDeadline(), broker.FormatVersion(), events)
		},
		Fatal: func(err error) { panic(err) },
	})
	options := Options{
		Term:      1,
		Group:     s.group,
		Replica:   s.group.machine,
		ClusterID: func() string { return "solo-cluster" },
		Clock:     environment.SystemClock(),
		Limits:    Limits{}.WithDefaults(),
		Settings:  Settings{MinimumWindowSeconds: 1, AWSCooldowns: true},
		Entropy:   rand.Reader,
		Counters:  NewCounters(0),
		Log:       slog.New(slog.DiscardHandler),
	}
	for _, set := range change {
		set(&options)
	}
	s.Term = Begin(t.Context(), options)
	go s.group.run() // ends below, after the last entry
	t.Cleanup(func() {
		s.End()
		close(s.group.entries)
		<-s.group.stopped
	})
	s.awaitServing()
	return s
}

func (s *solo) awaitServing() {
	s.t.Helper()
	select {
	case <-s.serving:
	case <-s.lost:
		s.t.Fatal("leadership was lost before it began")
	}
}

// next ends the Term and begins another one.
func (s *solo) next() {
	s.t.Helper()
	s.End()
	s.changing.Lock()
	s.Term = Begin(s.t.Context(), s.options)
	s.changing.Unlock()
	s.awaitServing()
}

// do executes a client's command, which must succeed.
func (s *solo) do(cmd queue.Command) queue.Result {
	s.t.Helper()
	frame, err := codec.AppendCommand(nil, cmd)
	clustertest.Must(s.t, err)
	o := s.Submit(s.t.Context(), Request{Frame: frame, MinimumVersion: codec.MinimumVersion(cmd)})
	if o.Verdict != Answered || o.Response.Err != nil {
		s.t.Fatalf("%T: %+v", cmd, o)
	}
	return o.Response.Result
}

func (s *solo) create(name string, attributes ...queue.Attribute) {
	s.t.Helper()
	if len(name) > len(fifoSuffix) && name[len(name)-len(fifoSuffix):] == fifoSuffix {
		attributes = append(attributes, queue.Attribute{Name: "FifoQueue", Value: "true"})
	}
	s.do(&queue.CreateQueue{Queue: name, Attributes: attributes})
}

func (s *solo) send(name, body string) {
	s.t.Helper()
	result := s.do(&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{entryFor(name, body)}})
	if sent := result.(queue.MessagesSent).Entries[0]; sent.Err != nil {
		s.t.Fatal(sent.Err)
	}
}

// entryFor returns a message; for a FIFO queue, in group "g" and deduplicated by its body.
func entryFor(name, body string) queue.SendEntry {
	entry := queue.SendEntry{Body: body}
	if len(name) > len(fifoSuffix) && name[len(name)-len(fifoSuffix):] == fifoSuffix {
		entry.GroupID, entry.GroupIDGiven = "g", true
		entry.DeduplicationID, entry.DeduplicationIDGiven = body, true
	}
	return entry
}
