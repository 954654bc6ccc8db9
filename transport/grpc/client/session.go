package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// DefaultLockSeconds is the duration of a session lock that is not renewed.
const DefaultLockSeconds = 30

// SessionOptions change how a session is held. The zero value is good.
type SessionOptions struct {
	// LockSeconds is how long the lock lasts when the client is gone; 0:
	// DefaultLockSeconds. The session renews it at each third.
	LockSeconds int32
	// ManualRenewal leaves it to the caller to renew the lock.
	ManualRenewal bool
	// WaitSeconds makes AcceptNext give up with NoSessionAvailable after 1 to 20 seconds,
	// or at once if it is negative. 0: it waits until its ctx ends.
	WaitSeconds int32
}

// Session is a message group that only its holder receives from. It renews its lock by
// itself until it is released. Safe for concurrent use.
type Session struct {
	client *Client
	queue  string
	ref    *seriatimpb.SessionRef
	lock   int32
	until  atomic.Int64 // end of the lock, milliseconds since 1970

	stop     context.CancelFunc // of the renewals
	renewals sync.WaitGroup
	lost     chan struct{} // closed when the lock is known to be lost
}

// Accept locks a session by its id. It fails with SessionCannotBeLocked if another
// receiver holds it.
func (c *Client) Accept(ctx context.Context, queue, id string, o SessionOptions) (*Session, error) {
	return c.accept(ctx, queue, &id, o, 0)
}

// AcceptNext locks the next session that has a message to receive and is not locked.
// It waits for one until ctx ends, or as long as the options say.
func (c *Client) AcceptNext(ctx context.Context, queue string, o SessionOptions) (*Session, error) {
	if o.WaitSeconds != 0 {
		return c.accept(ctx, queue, nil, o, max(o.WaitSeconds, 0))
	}
	for {
		s, err := c.accept(ctx, queue, nil, o, acceptWaitSeconds)
		if err == nil || ctx.Err() != nil || Reason(err) != reasonNoSession {
			return s, err
		}
	}
}

const (
	acceptWaitSeconds = 20 // the most that one call waits
	reasonNoSession   = "NoSessionAvailable"
)

// accept is made under an attempt id: what is made again gives the lock that the first
// attempt took.
func (c *Client) accept(ctx context.Context, queue string, id *string, o SessionOptions, wait int32) (*Session, error) {
	if o.LockSeconds == 0 {
		o.LockSeconds = DefaultLockSeconds
	}
	in := &seriatimpb.AcceptSessionRequest{Queue: queue, SessionId: id, LockSeconds: &o.LockSeconds, WaitSeconds: wait, AttemptId: new(newID())}
	var out *seriatimpb.Session
	err := c.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, options ...grpc.CallOption) (err error) {
		out, err = seriatimpb.NewSessionsClient(on).AcceptSession(ctx, in, options...)
		return err
	})
	if err != nil {
		return nil, err
	}
	s := &Session{client: c, queue: queue, ref: out.GetSession(), lock: o.LockSeconds, lost: make(chan struct{})}
	s.until.Store(out.GetLockedUntilMs())
	s.hold(ctx, o)
	return s, nil
}

// Resume goes on with a session that was accepted elsewhere, by its id and token. Without
// ManualRenewal it renews the lock first. A lock that is over fails with SessionLockLost,
// here or at the first use.
func (c *Client) Resume(ctx context.Context, queue, id, token string, o SessionOptions) (*Session, error) {
	if o.LockSeconds == 0 {
		o.LockSeconds = DefaultLockSeconds
	}
	s := &Session{client: c, queue: queue, ref: &seriatimpb.SessionRef{SessionId: id, Token: token}, lock: o.LockSeconds, lost: make(chan struct{})}
	if !o.ManualRenewal {
		if err := s.Renew(ctx); err != nil {
			return nil, err
		}
	}
	s.hold(ctx, o)
	return s, nil
}

// hold renews the lock from now on, unless the caller does.
func (s *Session) hold(ctx context.Context, o SessionOptions) {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if !o.ManualRenewal {
		s.renewals.Go(func() { s.renewAll(renewing) })
	}
}

// renewAll renews the lock until ctx ends or the lock is lost.
func (s *Session) renewAll(ctx context.Context) {
	tick := time.NewTicker(time.Duration(s.lock) * time.Second / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// What fails now is tried again at the next tick, with two before the end.
		if err := s.Renew(ctx); Reason(err) == reasonLockLost {
			close(s.lost)
			return
		}
	}
}

const reasonLockLost = "SessionLockLost"

// Renew lets the lock last on from now.
func (s *Session) Renew(ctx context.Context) error {
	in := &seriatimpb.RenewSessionRequest{Queue: s.queue, Session: s.ref, LockSeconds: &s.lock}
	return s.client.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) error {
		locked, err := seriatimpb.NewSessionsClient(on).RenewSession(ctx, in, o...)
		if err == nil {
			s.until.Store(locked.GetLockedUntilMs())
		}
		return err
	})
}

// ID is the id of the session, which is the group id of its messages.
func (s *Session) ID() string { return s.ref.GetSessionId() }

// Token names the lock, for Resume elsewhere.
func (s *Session) Token() string { return s.ref.GetToken() }

// LockedUntil is when the lock ends unless it is renewed again, in the time of the log;
// zero for a session that was resumed and not renewed.
func (s *Session) LockedUntil() time.Time { return timeOf(s.until.Load()) }

// Lost is closed when the lock is known to be lost: the messages are then delivered to
// others.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Receive receives up to 10 messages of the session, waiting up to 20 seconds for the
// first. It is made under an attempt id, so that messages of an answer that was lost are
// received again. After an error with the reason OutcomeUnknown all the same, release
// the session and accept it again: the messages come again then, in order, and a further
// Receive would pass them.
func (s *Session) Receive(ctx context.Context, limit, waitSeconds int32) ([]*seriatimpb.Message, error) {
	out, err := s.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: s.queue, Session: s.ref, MaxMessages: &limit, WaitSeconds: &waitSeconds})
	return out.GetMessages(), err
}

// Complete deletes 1 to 10 messages.
func (s *Session) Complete(ctx context.Context, handles ...string) error {
	return s.client.complete(ctx, s.queue, s.ref, handles)
}

// Abandon gives 1 to 10 messages back: the next Receive returns them again.
func (s *Session) Abandon(ctx context.Context, handles ...string) error {
	return s.client.abandon(ctx, s.queue, s.ref, handles)
}

// Defer sets 1 to 10 messages aside: ReceiveDeferred hands them out by their numbers.
func (s *Session) Defer(ctx context.Context, handles ...string) error {
	return s.client.deferMessages(ctx, s.queue, s.ref, handles)
}

// DeadLetter moves a message to the dead-letter queue, and says there why.
func (s *Session) DeadLetter(ctx context.Context, handle, reason, description string) error {
	return s.client.deadLetter(ctx, s.queue, s.ref, &seriatimpb.DeadLetterEntry{ReceiptHandle: handle, Reason: reason, Description: description})
}

// ReceiveDeferred receives 1 to 10 deferred messages of the session by their numbers.
func (s *Session) ReceiveDeferred(ctx context.Context, numbers ...uint64) ([]*seriatimpb.Message, error) {
	return s.client.receiveDeferred(ctx, s.queue, s.ref, numbers)
}

// State reads the state of the session, nil if it was never set, or cleared.
func (s *Session) State(ctx context.Context) ([]byte, error) {
	var out *seriatimpb.GetSessionStateResponse
	err := s.client.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) (err error) {
		out, err = seriatimpb.NewSessionsClient(on).GetSessionState(ctx, &seriatimpb.GetSessionStateRequest{Queue: s.queue, Session: s.ref}, o...)
		return err
	})
	return out.GetState(), err
}

// SetState sets the state of the session; nil clears it.
func (s *Session) SetState(ctx context.Context, state []byte) error {
	in := &seriatimpb.SetSessionStateRequest{Queue: s.queue, Session: s.ref, State: state}
	return s.client.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) error {
		_, err := seriatimpb.NewSessionsClient(on).SetSessionState(ctx, in, o...)
		return err
	})
}

// Release ends the lock and the renewals. Messages that are not settled come back at
// once, and that they were received does not count. A lock that is lost already needs no
// release.
func (s *Session) Release(ctx context.Context) error {
	s.stop()
	s.renewals.Wait()
	err := s.client.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) error {
		_, err := seriatimpb.NewSessionsClient(on).ReleaseSession(ctx, &seriatimpb.ReleaseSessionRequest{Queue: s.queue, Session: s.ref}, o...)
		return err
	})
	if Reason(err) == reasonLockLost {
		return nil
	}
	return err
}
