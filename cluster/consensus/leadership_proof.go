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

// A leader answers a read only with proof that it still led after the read arrived. The library's
// own verification counts learners and answers to messages sent before.
//
// So the leader asks the voters for the newest term they know. A voter that grants its vote in a
// later term knows that term from then on. If a majority, asked after the read arrived, knows no
// later term, no later leader was elected before, and none has acknowledged anything that the read
// would miss. Waiting reads share a question, see termAsker. It uses its own connections, so that
// it does not wait behind entries.

// A question is its number (8 bytes). The answer is the same number and the voter's term (8 bytes
// each), little-endian. A connection carries one question at a time.
const (
	termQuestionBytes = 8
	termAnswerBytes   = 16
)

// Pauses before a voter that did not answer is asked again over a new connection.
const (
	termPauseMin = 10 * time.Millisecond
	termPauseMax = 200 * time.Millisecond
)

// leadershipProof asks other voters for their terms, and answers their questions. Safe for
// concurrent use.
type leadershipProof struct {
	nodeID  string
	dial    func(ctx context.Context, nodeID string) (net.Conn, error)
	term    func() uint64   // the newest known term
	voters  func() []string // of the latest configuration
	timeout time.Duration   // for one question
	life    context.Context // ends when the group closes

	mu     sync.Mutex
	askers map[string]*termAsker // by voter
	asking sync.WaitGroup
	closed bool
}

// confirm returns nil if, at some moment after the call, no node had been elected in a later term.
// It waits until that is certain, or certainly false, or ctx ends.
func (p *leadershipProof) confirm(ctx context.Context, term uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the other answers are not needed any more
	voters := p.voters()
	need, against := len(voters)/2+1, 0
	answers := make(chan uint64, len(voters)) // room for one answer each
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

// ask adds a waiter to the voter's asker.
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

// close waits for the askers, which stop when life ends.
func (p *leadershipProof) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.asking.Wait()
}

// serve answers other nodes until the listener is closed.
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

// answer answers the questions on one connection until the other node closes it.
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

// termWaiter waits for the answer to a question that is not sent yet.
type termWaiter struct {
	ctx    context.Context
	answer chan<- uint64 // buffered
}

// termAsker asks one voter, one question at a time. A waiter gets only the answer to a question
// sent after it arrived. The connection stays open, which costs nothing while idle.
type termAsker struct {
	proof *leadershipProof
	voter string
	wake  wakeup.Signal // waiters were added

	mu      sync.Mutex
	waiting []termWaiter

	// For run only.
	conn    net.Conn
	answers <-chan termAnswer // read from conn; closed at its end
	number  uint64
}

type termAnswer [termAnswerBytes]byte

func (a *termAsker) join(w termWaiter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// If this voter is slow, most earlier waiters already have their majority.
	a.waiting = append(slices.DeleteFunc(a.waiting, termWaiter.gone), w)
	a.wake.Notify()
}

func (w termWaiter) gone() bool { return w.ctx.Err() != nil }

// takeWaiting removes and returns the waiters whose calls have not ended.
func (a *termAsker) takeWaiting() []termWaiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := slices.DeleteFunc(a.waiting, termWaiter.gone)
	a.waiting = nil
	return taken
}

// run asks questions until the group closes.
func (a *termAsker) run() {
	defer a.disconnect()
	life := a.proof.life
	for pause := termPauseMin; ; {
		select {
		case <-life.Done():
			return
		case <-a.wake:
		}
		waiters := a.takeWaiting()
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

// errTermAnswer: the voter answered another question.
var errTermAnswer = errors.New("an answer to another question")

// exchange asks the voter for its newest term.
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

// connect dials, unless the last connection is still open.
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

// readTermAnswers reads answers until the connection ends, and closes it then: FormatMaxOf assumes
// that the program at the other end runs while it is open, and the next question may be hours away.
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
			return // two answers to one question
		}
	}
}

func (a *termAsker) disconnect() {
	if a.conn != nil {
		a.conn.Close()
		a.conn, a.answers = nil, nil
	}
}
