package consensus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// A leader answers a read only with proof that it still led after the read
// arrived. The library's own proof is none: it counts learners against a quorum
// of voters, and any success, also of a message that was sent before the question.
//
// So the leader of a term asks the voters for the newest term they know. A voter
// that grants its vote in a later term knows that term from then on. If a majority
// of the voters, asked after the read arrived, knows no later term, then no leader
// of a later term was elected before, and none has acknowledged anything that the
// read would miss. All reads that wait share a question, see termAsker. It goes over
// connections of its own, so that it does not wait behind entries being written.

// A question is its number (8 bytes), the answer the same number and the term the
// voter knows (8 bytes each), little-endian. A connection carries one at a time.
const (
	termQuestionBytes = 8
	termAnswerBytes   = 16
)

// A voter that does not answer is asked again over a new connection.
const (
	termPauseMin = 10 * time.Millisecond
	termPauseMax = 200 * time.Millisecond
)

// leadershipProof asks the voters, and answers as one. Safe for concurrent use.
type leadershipProof struct {
	nodeID  string
	dial    func(ctx context.Context, nodeID string) (net.Conn, error)
	term    func() uint64   // the newest this node knows
	voters  func() []string // of the latest configuration
	timeout time.Duration   // of one question
	life    context.Context // ends when the group closes

	mu     sync.Mutex
	askers map[string]*termAsker // by voter
	asking sync.WaitGroup
	closed bool
}

// confirm returns nil if, at some moment after the call, no node had been elected
// in a term after this one. It waits until that is certain, or certainly false, or
// ctx ends.
func (p *leadershipProof) confirm(ctx context.Context, term uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // nobody needs the answers of the others any more
	voters := p.voters()
	need, against := len(voters)/2+1, 0
	answers := make(chan uint64, len(voters)) // one answer each
	for _, voter := range voters {
		switch {
		case voter == p.nodeID:
			answers <- p.term()
		case !p.ask(voter, termWaiter{ctx: ctx, answer: answers}):
			return fmt.Errorf("%w: the group is closed", fault.ErrNotLeader)
		}
	}
	for {
		select {
		case known := <-answers:
			if known <= term {
				need--
			} else {
				against++
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case need == 0:
			return nil
		case 2*against >= len(voters):
			return fmt.Errorf("%w: a majority knows a term after %d", fault.ErrNotLeader, term)
		}
	}
}

// ask hands a question to the voter's asker.
func (p *leadershipProof) ask(voter string, w termWaiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	a := p.askers[voter]
	if a == nil {
		a = &termAsker{proof: p, voter: voter, wake: wakeup.NewSignal()}
		p.askers[voter] = a
		p.asking.Go(a.run)
	}
	a.join(w)
	return true
}

// close waits for the askers, which end with the life of the group.
func (p *leadershipProof) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.asking.Wait()
}

// serve answers other nodes until the listener closes.
func (p *leadershipProof) serve(listener net.Listener) {
	var answering sync.WaitGroup
	defer answering.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		answering.Go(func() { p.answer(conn) })
	}
}

// answer answers the questions of one connection, which the asker closes.
func (p *leadershipProof) answer(conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(p.life, func() { conn.Close() })
	defer stop()
	var message [termAnswerBytes]byte
	for {
		if _, err := io.ReadFull(conn, message[:termQuestionBytes]); err != nil {
			return
		}
		binary.LittleEndian.PutUint64(message[termQuestionBytes:], p.term())
		if _, err := conn.Write(message[:]); err != nil {
			return
		}
	}
}

// termWaiter waits for a voter's answer to a question that was not sent yet.
type termWaiter struct {
	ctx    context.Context
	answer chan<- uint64 // has room
}

// termAsker asks one voter, one question at a time: one that was sent before a
// waiter came is not the waiter's. It keeps its connection, which costs nothing
// while nobody asks.
type termAsker struct {
	proof *leadershipProof
	voter string
	wake  wakeup.Signal // waiting is not empty

	mu      sync.Mutex
	waiting []termWaiter

	// Used by run only.
	conn    net.Conn
	answers <-chan termAnswer // what comes over conn; closed when that has ended
	number  uint64
}

type termAnswer [termAnswerBytes]byte

func (a *termAsker) join(w termWaiter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// Of those before most have their majority already if this voter is slow.
	a.waiting = append(slices.DeleteFunc(a.waiting, termWaiter.gone), w)
	a.wake.Notify()
}

func (w termWaiter) gone() bool { return w.ctx.Err() != nil }

// take returns those who wait and have not given up.
func (a *termAsker) take() []termWaiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := slices.DeleteFunc(a.waiting, termWaiter.gone)
	a.waiting = nil
	return taken
}

// run asks for as long as the group lives.
func (a *termAsker) run() {
	defer a.disconnect()
	life := a.proof.life
	for pause := termPauseMin; ; {
		select {
		case <-life.Done():
			return
		case <-a.wake:
		}
		waiters := a.take()
		if len(waiters) == 0 {
			continue
		}
		term, err := a.exchange(life)
		if err == nil {
			pause = termPauseMin
			for _, w := range waiters {
				w.answer <- term
			}
			continue
		}
		a.disconnect()
		for _, w := range waiters {
			a.join(w)
		}
		wakeup.Sleep(life, pause)
		pause = min(2*pause, termPauseMax)
	}
}

// errTermAnswer: a voter answered another question than the one asked.
var errTermAnswer = errors.New("an answer to another question")

// exchange asks and returns the newest term that the voter knows.
func (a *termAsker) exchange(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, a.proof.timeout)
	defer cancel()
	if err := a.connect(ctx); err != nil {
		return 0, err
	}
	conn := a.conn
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	a.number++
	if _, err := conn.Write(binary.LittleEndian.AppendUint64(nil, a.number)); err != nil {
		return 0, err
	}
	message, open := <-a.answers
	switch {
	case !open:
		return 0, io.ErrUnexpectedEOF
	case binary.LittleEndian.Uint64(message[:]) != a.number:
		return 0, errTermAnswer
	}
	return binary.LittleEndian.Uint64(message[termQuestionBytes:]), nil
}

// connect dials, unless there is a connection that has not ended since the last answer.
func (a *termAsker) connect(ctx context.Context) error {
	select {
	case <-a.answers:
		a.disconnect()
	default:
	}
	if a.conn != nil {
		return nil
	}
	conn, err := a.proof.dial(ctx, a.voter)
	if err != nil {
		return err
	}
	answers := make(chan termAnswer, 1)
	a.conn, a.answers = conn, answers
	a.proof.asking.Go(func() { readTermAnswers(conn, answers) })
	return nil
}

// readTermAnswers reads what a voter answers until the connection ends. It closes it then: what
// a voter said of its program when it was connected holds while it is (FormatMaxOf), and
// nobody may ask for hours.
func readTermAnswers(conn net.Conn, answers chan<- termAnswer) {
	defer close(answers)
	defer conn.Close()
	for {
		var message termAnswer
		if _, err := io.ReadFull(conn, message[:]); err != nil {
			return
		}
		select {
		case answers <- message:
		default:
			return // two for one question
		}
	}
}

func (a *termAsker) disconnect() {
	if a.conn != nil {
		a.conn.Close()
		a.conn, a.answers = nil, nil
	}
}
