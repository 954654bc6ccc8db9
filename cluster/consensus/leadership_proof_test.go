package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// voterStub answers questions about terms. If let is not nil, each question waits for a token.
type voterStub struct {
	t     *testing.T
	term  func() uint64
	asked chan uint64   // the number of each question
	let   chan struct{} // nil: answer at once
	early []byte        // sent on a new connection before any question
}

func (v *voterStub) serve(conn net.Conn) {
	defer conn.Close()
	if len(v.early) > 0 {
		if _, err := conn.Write(v.early); err != nil {
			return
		}
	}
	var message [termAnswerBytes]byte
	for {
		if _, err := io.ReadFull(conn, message[:termQuestionBytes]); err != nil {
			return
		}
		v.asked <- binary.LittleEndian.Uint64(message[:])
		if v.let != nil {
			<-v.let
		}
		binary.LittleEndian.PutUint64(message[termQuestionBytes:], v.term())
		if _, err := conn.Write(message[:]); err != nil {
			return
		}
	}
}

// newTestProof returns the proof of node a, at term 5, with these other voters.
func newTestProof(t *testing.T, stubs map[string]*voterStub) *leadershipProof {
	life, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	voters := []string{"a"}
	for id, stub := range stubs {
		stub.t, stub.asked = t, make(chan uint64, 1000)
		voters = append(voters, id)
	}
	p := &leadershipProof{
		nodeID: "a", term: func() uint64 { return 5 }, voters: func() []string { return voters }, timeout: clustertest.Timeout, life: life,
		askers: make(map[string]*termAsker),
		dial: func(_ context.Context, nodeID string) (net.Conn, error) {
			near, far := net.Pipe()
			serving.Go(func() { stubs[nodeID].serve(far) })
			return near, nil
		},
	}
	t.Cleanup(func() { cancel(); p.close(); serving.Wait() })
	return p
}

func (p *leadershipProof) askerOf(voter string) *termAsker {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.askers[voter]
}

func always(term uint64) func() uint64 { return func() uint64 { return term } }

func TestLeadershipProofNeedsAMajorityOfVoters(t *testing.T) {
	silent := func() *voterStub { return &voterStub{term: always(5), let: make(chan struct{})} }
	cases := []struct {
		name   string
		stubs  map[string]*voterStub
		proven bool
		denied bool // at once, not when the context ends
	}{
		{"alone", nil, true, false},
		{"both know the term", map[string]*voterStub{"b": {term: always(5)}, "c": {term: always(5)}}, true, false},
		{"one knows an earlier term, as it was down", map[string]*voterStub{"b": {term: always(3)}, "c": silent()}, true, false},
		{"one is silent, one knows a later term", map[string]*voterStub{"b": silent(), "c": {term: always(6)}}, false, false},
		{"both know a later term", map[string]*voterStub{"b": {term: always(6)}, "c": {term: always(7)}}, false, true},
		{"both are silent", map[string]*voterStub{"b": silent(), "c": silent()}, false, false},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			p := newTestProof(t, test.stubs)
			for _, stub := range test.stubs {
				if stub.let != nil {
					t.Cleanup(func() { close(stub.let) })
				}
			}
			timeout := clustertest.Timeout
			if !test.proven && !test.denied {
				timeout = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			err := p.confirm(ctx, 5)
			if (err == nil) != test.proven || errors.Is(err, fault.ErrNotLeader) != test.denied {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The answer to a question that was sent before a read arrived proves nothing for the read.
func TestLeadershipProofIsYoungerThanTheRead(t *testing.T) {
	var mu sync.Mutex
	term := uint64(5)
	b := &voterStub{term: func() uint64 { mu.Lock(); defer mu.Unlock(); return term }, let: make(chan struct{})}
	c := &voterStub{term: always(9)}
	p := newTestProof(t, map[string]*voterStub{"b": b, "c": c})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- p.confirm(t.Context(), 5) }()
	<-b.asked
	go func() { second <- p.confirm(t.Context(), 5) }()
	// The second waits at b's asker before b answers the first.
	asker := p.askerOf("b")
	for waits := false; !waits; {
		asker.mu.Lock()
		waits = len(asker.waiting) == 1
		asker.mu.Unlock()
	}
	b.let <- struct{}{}
	if err := <-first; err != nil {
		t.Fatalf("the first: %v", err)
	}
	<-b.asked
	mu.Lock()
	term = 9 // it elected another leader meanwhile
	mu.Unlock()
	b.let <- struct{}{}
	if err := <-second; !errors.Is(err, fault.ErrNotLeader) {
		t.Fatalf("the second was answered by the first one's question: %v", err)
	}
}

// Bytes that arrive before a question answer nothing.
func TestLeadershipProofRefusesEarlyAnswers(t *testing.T) {
	early := make([]byte, termAnswerBytes)
	binary.LittleEndian.PutUint64(early[termQuestionBytes:], 5)
	b := &voterStub{term: always(9), early: early}
	c := &voterStub{term: always(9)}
	p := newTestProof(t, map[string]*voterStub{"b": b, "c": c})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.confirm(ctx, 5); err == nil {
		t.Error("proven by an answer without a question")
	}
}

// The format of a voter's program is known while it is connected: the end of a connection is
// detected without a question.
func TestLeadershipProofNoticesTheEndOfAConnection(t *testing.T) {
	p := newTestProof(t, map[string]*voterStub{"b": {term: always(5)}})
	closed := make(chan struct{}, 2)
	dial, farEnds := p.dial, make(chan net.Conn, 2)
	p.dial = func(ctx context.Context, nodeID string) (net.Conn, error) {
		conn, err := dial(ctx, nodeID)
		near, far := net.Pipe() // in between, so that the test can end the connection
		go func() { _, _ = io.Copy(conn, far); conn.Close() }()
		go func() { _, _ = io.Copy(far, conn) }()
		farEnds <- far
		return closeNotifier{near, sync.OnceFunc(func() { closed <- struct{}{} })}, err
	}
	for range 2 {
		clustertest.Must(t, p.confirm(t.Context(), 5))
		(<-farEnds).Close()
		select {
		case <-closed:
		case <-time.After(clustertest.Timeout):
			t.Fatal("the connection is still open")
		}
	}
}

// closeNotifier reports when a connection is closed.
type closeNotifier struct {
	net.Conn
	notify func()
}

func (c closeNotifier) Close() error {
	c.notify()
	return c.Conn.Close()
}

// Many reads share a question, and ended reads leave nothing behind.
func TestLeadershipProofIsShared(t *testing.T) {
	b := &voterStub{term: always(5), let: make(chan struct{})}
	c := &voterStub{term: always(9), let: make(chan struct{})}
	p := newTestProof(t, map[string]*voterStub{"b": b, "c": c})
	t.Cleanup(func() { close(c.let) })
	first := make(chan error, 1)
	go func() { first <- p.confirm(t.Context(), 5) }()
	<-b.asked
	const many = 100
	rest := make(chan error, many)
	for range many {
		go func() { rest <- p.confirm(t.Context(), 5) }()
	}
	asker := p.askerOf("b")
	for gathered := 0; gathered < many; {
		asker.mu.Lock()
		gathered = len(asker.waiting)
		asker.mu.Unlock()
	}
	close(b.let)
	for range many {
		clustertest.Check(t, <-rest)
	}
	if n := len(b.asked); n != 1 {
		t.Errorf("%d questions for %d reads", n, many)
	}
	clustertest.Check(t, <-first)
	// c never answered: the next read removes the waiters that ended.
	slow := p.askerOf("c")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	slow.join(termWaiter{ctx: ctx, answer: make(chan uint64, 1)})
	slow.mu.Lock()
	defer slow.mu.Unlock()
	if n := len(slow.waiting); n != 1 {
		t.Errorf("%d reads wait for a voter that does not answer, want the last one", n)
	}
}
