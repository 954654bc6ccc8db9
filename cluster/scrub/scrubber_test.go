package scrub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// hastyClock advances ten seconds with each reading.
type hastyClock struct{ *clustertest.HandClock }

func (c hastyClock) Monotonic() time.Duration {
	c.Pass(10 * time.Second)
	return c.HandClock.Monotonic()
}

// member is a node with its own state, which may lag behind the others.
type member struct {
	t        *testing.T
	name     string
	network  *peernet.Network
	book     *peernet.AddressBook
	bodies   *bodies.Store
	ended    *clustertest.FatalRecord
	scrubber *Scrubber
	asked    chan struct{} // with room for the questions of a test
	dir      string

	mu    sync.RWMutex // of state
	state *fsm.FSM
}

// members returns connected members. The first one checks bodies only with a rate.
func members(t *testing.T, names ...string) []*member {
	var all []*member
	for _, name := range names {
		m := &member{t: t, name: name, ended: clustertest.NewFatalRecord(), asked: make(chan struct{}, 1000),
			dir: filepath.Join(t.TempDir(), "bodies")}
		m.network, m.book = peernettest.Open(t, name, nil)
		store, err := bodies.Open(bodies.Options{
			Life: t.Context(), Dir: m.dir, Guard: storage.NewDiskGuard(time.Hour, m.ended.Fatal, nil), Logger: clustertest.Logger(t, 0),
			Keep: true, SegmentBytes: 64 << 10, CacheBytes: 1,
		})
		clustertest.Must(t, err)
		t.Cleanup(store.Close)
		m.bodies = store
		m.state = fsm.New(fsm.Options{StateLock: &m.mu, Bodies: store, Fatal: func(err error) { t.Error(err) }})
		all = append(all, m)
	}
	for _, m := range all {
		others := []string{}
		for _, other := range all {
			if other != m {
				others = append(others, other.name)
				m.book.Note(other.name, other.network.BoundAddr(), 1)
			}
		}
		m.scrubber = New(Options{
			Bodies: m.bodies, Read: m.read, Others: func() []string { return others }, Network: m.network,
			Clock: hastyClock{clustertest.NewHandClock(1)}, Logger: clustertest.Logger(t, 0),
		})
	}
	return all
}

func (m *member) read(read func(queue.View)) uint64 { return m.state.Read(read).Index }

// serve answers questions until the test ends.
func (m *member) serve() {
	ctx, cancel := context.WithCancel(clustertest.Context(m.t))
	scrubber := *m.scrubber
	scrubber.options.Read = func(read func(queue.View)) uint64 {
		defer func() { m.asked <- struct{}{} }()
		return m.read(read)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		scrubber.Serve(ctx, m.network.Listener(peernet.KindBodies, 0))
	}()
	m.t.Cleanup(func() {
		cancel()
		<-served
	})
}

// run heals until the test ends.
func (m *member) run() {
	ctx, cancel := context.WithCancel(clustertest.Context(m.t))
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		m.scrubber.Run(ctx)
	}()
	m.t.Cleanup(func() {
		cancel()
		<-ran
	})
}

// apply applies commands as the next entry of the log.
func (m *member) apply(commands ...queue.Command) {
	next := m.state.AppliedIndex() + 1
	m.state.Apply(&raft.Log{Index: next, Term: 1, Type: raft.LogCommand, Data: clustertest.EntryOf(m.t, int(next), commands...)})
}

const orders = "orders"

func textOf(number int) string { return strings.Repeat(fmt.Sprintf("body %03d, ", number), 100) }

// fill applies the sends of some messages, and writes them to disk.
func (m *member) fill() {
	m.apply(&queue.CreateQueue{Queue: orders})
	for number := range 3 {
		m.apply(send(number))
	}
	// A full segment is not kept in memory.
	big := send(0)
	big.Entries[0].Body = strings.Repeat("x", 64<<10)
	m.apply(big, big)
	m.sync()
}

// sync writes all bodies to disk.
func (m *member) sync() {
	m.t.Helper()
	captured, err := m.state.Snapshot()
	clustertest.Must(m.t, err)
	defer captured.Release()
	clustertest.Must(m.t, captured.Persist(discard{}))
}

func send(number int) *queue.SendMessages {
	return &queue.SendMessages{Queue: orders, SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{Body: textOf(number)}}}
}

// discard is a sink for a snapshot.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
func (discard) Cancel() error               { return nil }
func (discard) ID() string                  { return "discarded" }

// body returns the body of a message.
func (m *member) body(number int) (body queue.Body) {
	m.t.Helper()
	m.read(func(v queue.View) {
		found := false
		if body, found = bodyOf(v, orders, queue.SequenceNumber(number+1)); !found || !body.Stored() {
			m.t.Errorf("%s has no message %d with a body in a segment", m.name, number)
		}
	})
	return body
}

// damage flips a bit of a body, and returns the error of reading it.
func (m *member) damage(number int) *bodies.BeingHealed {
	m.t.Helper()
	body := m.body(number)
	files, err := filepath.Glob(filepath.Join(m.dir, "*"))
	if err != nil || len(files) == 0 {
		m.t.Fatal(files, err)
	}
	clustertest.FlipBit(m.t, files[body.Place().Segment-1], int64(body.Place().Offset)+50)
	_, err = m.bodies.Read(body)
	healing, ok := errors.AsType[*bodies.BeingHealed](err)
	if !ok {
		m.t.Fatalf("reading a damaged body: %v", err)
	}
	return healing
}

// asks waits for some more questions to another member.
func (m *member) asks(other *member, times int) {
	m.t.Helper()
	ctx := clustertest.Context(m.t)
	for range times {
		select {
		case <-other.asked:
		case <-m.ended.Ended:
			m.mustRun()
		case <-ctx.Done():
			m.t.Fatalf("%s was not asked", other.name)
		}
	}
}

func (m *member) mustRun() {
	m.t.Helper()
	if codes, errs := m.ended.All(); len(codes) > 0 {
		m.t.Fatalf("%s ended: %v, %v", m.name, codes, errs)
	}
}

func (m *member) mustHave(numbers ...int) {
	m.t.Helper()
	for _, number := range numbers {
		if got, err := m.bodies.Read(m.body(number)); err != nil || got.String() != textOf(number) {
			m.t.Errorf("%s reads of message %d %.20q, %v", m.name, number, got.String(), err)
		}
	}
}

// outcome is the result for a damaged body.
func (m *member) outcome(of *bodies.BeingHealed) error {
	m.t.Helper()
	select {
	case <-of.Done():
	case <-clustertest.Context(m.t).Done():
		m.t.Fatal("nothing became of a damaged body")
	}
	return of.Outcome()
}

// A node that lags behind, and finds damage in a message that the others have deleted, waits until
// it has deleted it as well.
func TestWhatOthersHaveDeletedIsAwaited(t *testing.T) {
	t.Parallel()
	all := members(t, "a-1", "b-2", "c-3")
	behind := all[0]
	purge := &queue.PurgeQueue{Queue: orders}
	for _, m := range all {
		m.fill()
		m.serve()
	}
	for _, other := range all[1:] {
		other.apply(purge)
	}
	healing := behind.damage(1)
	behind.run()
	for _, other := range all[1:] {
		behind.asks(other, 5)
	}
	behind.mustRun()
	behind.apply(purge)
	if err := behind.outcome(healing); !errors.Is(err, bodies.ErrGone) {
		t.Errorf("the outcome is %v", err)
	}
	behind.mustRun()
}

// Nodes that lag behind this one may not have the message yet.
func TestMembersThatLagAreAwaited(t *testing.T) {
	t.Parallel()
	all := members(t, "a-1", "b-2", "c-3")
	newest := all[0]
	newest.fill()
	healing := newest.damage(1)
	for _, other := range all[1:] {
		other.serve()
	}
	newest.run()
	for _, other := range all[1:] {
		newest.asks(other, 5)
	}
	newest.mustRun()
	all[2].fill()
	clustertest.Check(t, newest.outcome(healing))
	newest.mustHave(0, 1, 2)
	newest.mustRun()
}

// A node that does not answer has not refused the body, and delays no other body.
func TestWhoIsSilentIsAwaited(t *testing.T) {
	t.Parallel()
	all := members(t, "a-1", "b-2", "c-3")
	for _, m := range all {
		m.fill()
	}
	here, sound, silent := all[0], all[1], all[2]
	sound.serve()
	lost, other := here.damage(0), here.damage(2)
	sound.damage(0)
	here.run()
	clustertest.Check(t, here.outcome(other))
	here.asks(sound, 10)
	here.mustRun()
	silent.serve()
	clustertest.Check(t, here.outcome(lost))
	here.mustHave(0, 1, 2)
	here.mustRun()
}

// A body that is damaged on all nodes is lost.
func TestBodyThatNobodyHasEndsTheNode(t *testing.T) {
	t.Parallel()
	all := members(t, "a-1", "b-2", "c-3")
	for _, m := range all {
		m.fill()
		m.serve()
	}
	for _, other := range all[1:] {
		other.damage(1)
	}
	all[0].damage(1)
	all[0].run()
	select {
	case <-all[0].ended.Ended:
	case <-clustertest.Context(t).Done():
		t.Fatal("it goes on")
	}
	if codes, errs := all[0].ended.All(); codes[0] != fault.ExitChecksum {
		t.Errorf("it ended with %v, %v", codes, errs)
	}
	for _, other := range all[1:] {
		other.mustRun()
	}
}

// A body that becomes readable again needs no other node.
func TestWhatIsSoundAgainIsRead(t *testing.T) {
	t.Parallel()
	here := members(t, "a-1", "b-2")[0]
	here.fill()
	healing := here.damage(1)
	file := filepath.Join(here.dir, fmt.Sprintf("%010d.bodies", healing.Body.Place().Segment))
	clustertest.Must(t, clustertest.Err(os.Stat(file)))
	clustertest.FlipBit(t, file, int64(healing.Body.Place().Offset)+50)
	here.run()
	clustertest.Check(t, here.outcome(healing))
	here.mustHave(0, 1, 2)
	here.mustRun()
}
