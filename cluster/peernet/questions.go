package peernet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A question between nodes has a connection of its own, with the question and the answer as one
// JSON value each. Questions are for rare and small things, such as changes of the members.
// Requests of clients use KindForward.

// questionMax bounds a question and an answer, in bytes.
const questionMax = 1 << 20

// ErrNotAsked reports a question that did not reach the node and so had no effect.
var ErrNotAsked = errors.New("the node could not be asked")

// notAsked makes the error of a failed connection an ErrNotAsked.
type notAsked struct{ error }

// Is reports whether target is ErrNotAsked.
func (n notAsked) Is(target error) bool { return target == ErrNotAsked }

// Unwrap returns the error of the connection.
func (n notAsked) Unwrap() error { return n.error }

// because adds the error of ctx to err, if ctx has ended.
func because(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return errors.Join(ended, err)
	}
	return err
}

// Ask sends a question to a node and waits for the answer until ctx ends. After an error that is
// not ErrNotAsked, the node may have seen the question.
func Ask[A any](ctx context.Context, network *Network, nodeID string, kind Kind, group uint32, question any) (answer A, err error) {
	conn, err := network.Dial(ctx, nodeID, kind, group)
	if err != nil {
		return answer, notAsked{because(ctx, err)}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(question); err != nil {
		return answer, fmt.Errorf("asking node %s: %w", nodeID, because(ctx, err))
	}
	if err := json.NewDecoder(io.LimitReader(conn, questionMax)).Decode(&answer); err != nil {
		return answer, fmt.Errorf("awaiting the answer of node %s: %w", nodeID, because(ctx, err))
	}
	return answer, nil
}

// Answering configures the answers to questions of one kind.
type Answering[Q, A any] struct {
	// AtOnce bounds concurrent answers. Further questions wait, or their connections are closed if
	// CloseExcess is set.
	AtOnce      int
	CloseExcess bool
	// Arrival bounds the arrival of a question.
	Arrival time.Duration
	// Within bounds the answer; then the connection is closed. 0: no bound.
	Within time.Duration
	// Answerable reports whether this node can answer a question yet. If not, the connection is
	// closed without an answer. Nil: always.
	Answerable func(question Q) bool
	// Answer answers within ctx. The handshake has proved the identity of from. done, if not nil,
	// is called after the answer is sent; Within does not bound it.
	Answer func(ctx context.Context, from string, question Q) (answer A, done func())
}

// Serve answers the questions at a listener until ctx ends or the listener closes, and waits for
// the answers in progress. A connection may end without an answer.
func (a Answering[Q, A]) Serve(ctx context.Context, listener net.Listener) {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() }) // ends Accept
	defer stop()
	var under sync.WaitGroup
	defer under.Wait()
	slots := make(chan struct{}, a.AtOnce)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if !a.takeSlot(ctx, slots) {
			conn.Close()
			continue
		}
		under.Go(func() {
			defer func() { <-slots }()
			a.ServeConn(ctx, conn)
		})
	}
}

// takeSlot waits for a slot. With CloseExcess, it reports false if none is free.
func (a Answering[Q, A]) takeSlot(ctx context.Context, slots chan<- struct{}) bool {
	if a.CloseExcess {
		select {
		case slots <- struct{}{}:
			return true
		default:
			return false
		}
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// ServeConn answers the question of one connection.
func (a Answering[Q, A]) ServeConn(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	arrival := time.AfterFunc(a.Arrival, func() { conn.Close() })
	var question Q
	err := json.NewDecoder(io.LimitReader(conn, questionMax)).Decode(&question)
	if !arrival.Stop() || err != nil || a.Answerable != nil && !a.Answerable(question) {
		return
	}
	if done := a.answer(ctx, conn, question); done != nil {
		done()
	}
}

// answer sends the answer to a question. It returns the function to call afterwards.
func (a Answering[Q, A]) answer(ctx context.Context, conn net.Conn, question Q) (done func()) {
	if a.Within > 0 {
		limited, cancel := context.WithTimeout(ctx, a.Within)
		defer cancel()
		stop := context.AfterFunc(limited, func() { conn.Close() })
		defer stop()
		ctx = limited
	}
	from := ""
	if peer, ok := conn.(*peerConn); ok {
		from = peer.node
	}
	answer, done := a.Answer(ctx, from, question)
	if ctx.Err() == nil {
		_ = json.NewEncoder(conn).Encode(answer) // on an error, the other node asks again
	}
	return done
}
