package consensus

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// stream is one direction of a connection without a network and without delay. Safe for concurrent
// use.
type stream struct {
	mu     sync.Mutex
	filled *sync.Cond
	held   bytes.Buffer
	ended  bool
}

func newStream() *stream {
	s := &stream{}
	s.filled = sync.NewCond(&s.mu)
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.filled.Broadcast()
	return s.held.Write(p)
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held.Len() == 0 && !s.ended {
		s.filled.Wait()
	}
	if s.held.Len() == 0 {
		return 0, io.EOF
	}
	return s.held.Read(p)
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.filled.Broadcast()
}

// streamConn is one end of a connection of two streams.
type streamConn struct {
	net.Conn
	in, out *stream
}

func (c streamConn) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c streamConn) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c streamConn) SetWriteDeadline(time.Time) error { return nil }
func (c streamConn) Close() error                     { c.in.end(); c.out.end(); return nil }

// askedBy is a follower to which a test sends messages over such a connection.
type askedBy struct {
	*member
	ask  *wire.Conn
	send func(p []byte) (int, error)
}

// newAsked returns a single node to which a test sends messages as the leader.
func newAsked(t *testing.T) *askedBy {
	t.Helper()
	n := newNodes(t, 1)[0]
	n.disk = newHeldDisk()
	g := newGroup(t, 0, []*node{n}, nil)
	m := g.All[0]
	g.start(m)
	there, back := newStream(), newStream()
	conn := streamConn{in: there, out: back}
	var serving sync.WaitGroup
	serving.Go(func() { m.group.transport.answer(conn, peernet.KindConsensus) })
	t.Cleanup(func() { conn.Close(); serving.Wait() })
	return &askedBy{m, wire.NewConn(streamConn{in: back, out: there}), there.Write}
}

// sends sends messages so that they arrive together.
func (a *askedBy) sends(t *testing.T, messages ...*raft.AppendEntriesRequest) {
	t.Helper()
	var together bytes.Buffer
	to := wire.NewConn(&together)
	for _, message := range messages {
		clustertest.Must(t, to.Ask(message))
	}
	clustertest.Must(t, clustertest.Err(a.send(together.Bytes())))
}

// writes returns the number of writes of the follower, each with a sync.
func (a *askedBy) writes() uint64 {
	count, _ := a.group.stores.log.Writes().Read(func(float64, uint64) {})
	return count
}

func (a *askedBy) answers(t *testing.T, n int) (answers []*raft.AppendEntriesResponse) {
	t.Helper()
	for range n {
		answer := new(raft.AppendEntriesResponse)
		clustertest.Must(t, a.ask.Answer(answer))
		answers = append(answers, answer)
	}
	return answers
}

// leads returns a message of the leader of a term with entries from one index to another; none if
// to is before from.
func leads(t *testing.T, term, from, to, committed uint64) *raft.AppendEntriesRequest {
	t.Helper()
	id := []byte("leader")
	m := &raft.AppendEntriesRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: id, Addr: id},
		Term:      term, PrevLogEntry: from - 1, LeaderCommitIndex: committed, Entries: (&played{t: t}).logs(term, from, to),
	}
	if from > 1 {
		m.PrevLogTerm = term
	}
	return m
}

// Messages that arrive during a write are written with one sync, and each is answered.
func TestMessagesThatWaitAreWrittenTogether(t *testing.T) {
	t.Parallel()
	a := newAsked(t)
	a.sends(t, leads(t, 3, 1, 1, 0))
	a.answers(t, 1)
	before := a.writes()
	a.node.disk.hold()
	a.sends(t, leads(t, 3, 2, 2, 1))
	select {
	case <-a.node.disk.arrived:
	case <-clustertest.Context(t).Done():
		t.Fatal("nothing is written")
	}
	const last = 12
	var waiting []*raft.AppendEntriesRequest
	for index := uint64(3); index <= last; index++ {
		waiting = append(waiting, leads(t, 3, index, index, index-1))
	}
	a.sends(t, waiting...)
	a.node.disk.release(false)
	for i, answer := range a.answers(t, 1+len(waiting)) {
		if !answer.Success || answer.Term != 3 || answer.LastLog != uint64(i)+1 {
			t.Errorf("the message with entry %d is answered by %+v", i+2, answer)
		}
	}
	if writes := a.writes() - before; writes != 2 {
		t.Errorf("%d entries were written with %d syncs, want 2", last-1, writes)
	}
	if got, err := a.group.stores.log.LastIndex(); err != nil || got != last {
		t.Errorf("the log ends at %d, %v", got, err)
	}
	clustertest.Check(t, a.group.WaitApplied(clustertest.Context(t), last-1))
}

// A follower gives messages that wait together the same answers as one after another, and ends with
// the same log.
func TestMessagesTogetherAreAnsweredAsEachByItself(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		together, single := newAsked(t), newAsked(t)
		for _, a := range []*askedBy{together, single} {
			a.sends(t, leads(t, 3, 1, 1, 0))
			a.answers(t, 1)
		}
		term, end, merges := uint64(3), uint64(1), 0
		for round := range 40 {
			kept := max(end, 5) - 4 // no leader takes back committed entries
			var messages []*raft.AppendEntriesRequest
			for range 1 + random.IntN(6) {
				from := end + 1
				switch random.IntN(12) {
				case 0: // another leader, which truncates entries
					term++
					from = max(kept, end-min(end, random.Uint64N(4))) + 1
				case 1: // sent before
					from = max(kept, end-min(end, random.Uint64N(5))) + 1
				case 2: // one before it is missing
					from += 1 + random.Uint64N(3)
				}
				m := leads(t, term, from, from+random.Uint64N(4)-1, min(kept, random.Uint64N(2*kept)))
				if random.IntN(8) > 0 {
					m.PrevLogTerm = single.termOf(from-1, messages)
				}
				if random.IntN(20) == 0 {
					m.Term-- // deposed
				}
				if last, _ := endOf(m); m.Term == term && from <= end+1 {
					end = last
				}
				if n := len(messages); n > 0 && follows(messages[n-1], m) {
					merges++
				}
				messages = append(messages, m)
			}
			together.sends(t, messages...)
			got := together.answers(t, len(messages))
			for i, m := range messages {
				single.sends(t, m)
				want := single.answers(t, 1)[0]
				if got[i].Success != want.Success || got[i].Term != want.Term || got[i].LastLog > want.LastLog || !want.Success &&
					got[i].LastLog != want.LastLog {
					t.Fatalf("seed %d, round %d, message %d of %d: %+v, by itself %+v", seed, round, i, len(messages), got[i], want)
				}
			}
			end, _ = single.group.stores.log.LastIndex()
			sameLogs(t, together.group, single.group)
		}
		if merges < 10 {
			t.Errorf("seed %d: %d messages follow another", seed, merges)
		}
	}
}

// termOf returns the term of an entry after these messages.
func (a *askedBy) termOf(index uint64, messages []*raft.AppendEntriesRequest) (term uint64) {
	var entry raft.Log
	if a.group.stores.log.GetLog(index, &entry) == nil {
		term = entry.Term
	}
	for _, m := range messages {
		for _, e := range m.Entries {
			if e.Index == index {
				term = e.Term
			}
		}
	}
	return term
}

// sameLogs checks that two nodes have the same log and commit index.
func sameLogs(t *testing.T, a, b *Group) {
	t.Helper()
	last, err := a.stores.log.LastIndex()
	other, also := b.stores.log.LastIndex()
	if err != nil || also != nil || last != other || a.CommitIndex() != b.CommitIndex() {
		t.Fatalf("logs end at %d and %d, committed are %d and %d: %v, %v", last, other, a.CommitIndex(), b.CommitIndex(), err, also)
	}
	for index := uint64(1); index <= last; index++ {
		var one, two raft.Log
		clustertest.Must(t, a.stores.log.GetLog(index, &one))
		clustertest.Must(t, b.stores.log.GetLog(index, &two))
		if one.Term != two.Term || !bytes.Equal(one.Data, two.Data) {
			t.Fatalf("entry %d is of term %d and of %d", index, one.Term, two.Term)
		}
	}
}
