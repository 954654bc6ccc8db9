package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// DefaultLockSeconds is the duration of a session lock that is not renewed.
const DefaultLockSeconds = 30

// SessionOptions configure a session. The zero value is useful.
type SessionOptions struct {
	// LockSeconds is the duration of the lock, which the session renews after each third of
	// it; 0: DefaultLockSeconds.
	LockSeconds int32
	// ManualRenewal turns the automatic renewals off: call Renew.
	ManualRenewal bool
	// WaitSeconds bounds the wait of AcceptNext to 1 to 20 seconds, after which it fails with
	// NoSessionAvailable; negative: no wait; 0: until its ctx ends.
	WaitSeconds int32
}

// Session is a message group that no other client receives from. It renews its lock until
// Release. Safe for concurrent use.
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

// Accept locks a session by its id. It fails with SessionCannotBeLocked if the session is
// locked.
func (c *Client) Accept(ctx context.Context, queue, id string, o SessionOptions) (*Session, error) {
	return c.accept(ctx, queue, &id, o, 0)
}

// AcceptNext locks the next session that has a message to receive and no lock, waiting for
// one as the options say.
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
	acceptWaitSeconds = 20 // the longest wait of one call
	reasonNoSession   = "NoSessionAvailable"
)

// accept sends an attempt id, so that a repeated call returns the lock of the first attempt.
func (c *Client) accept(ctx context.Context, queue string, id *string, o SessionOptions, wait int32) (*Session, error) {
	if o.LockSeconds == 0 {
		o.LockSeconds = DefaultLockSeconds
	}
	in := &seriatimpb.AcceptSessionRequest{Queue: queue, SessionId: id, LockSeconds: &o.LockSeconds, WaitSeconds: wait,
		AttemptId: new(newID())}
	out, err := Call(ctx, c, true, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.AcceptSession, in)
	if err != nil {
		return nil, err
	}
	s := &Session{client: c, queue: queue, ref: out.GetSession(), lock: o.LockSeconds, lost: make(chan struct{})}
	s.until.Store(out.GetLockedUntilMs())
	s.hold(ctx, o)
	return s, nil
}

// Resume continues a session that was accepted elsewhere, by its id and token. Without
// ManualRenewal it renews the lock first. If the lock has ended, Resume or the first use
// fails with SessionLockLost.
func (c *Client) Resume(ctx context.Context, queue, id, token string, o SessionOptions) (*Session, error) {
	if o.LockSeconds == 0 {
		o.LockSeconds = DefaultLockSeconds
	}
	s := &Session{client: c, queue: queue, ref: &seriatimpb.SessionRef{SessionId: id, Token: token}, lock: o.LockSeconds,
		lost: make(chan struct{})}
	if !o.ManualRenewal {
		if err := s.Renew(ctx); err != nil {
			return nil, err
		}
	}
	s.hold(ctx, o)
	return s, nil
}

// hold starts the renewals.
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
		// Any other error leaves two more ticks before the lock ends.
		if err := s.Renew(ctx); Reason(err) == reasonLockLost {
			close(s.lost)
			return
		}
	}
}

const reasonLockLost = "SessionLockLost"

// Renew restarts the duration of the lock.
func (s *Session) Renew(ctx context.Context) error {
	in := &seriatimpb.RenewSessionRequest{Queue: s.queue, Session: s.ref, LockSeconds: &s.lock}
	locked, err := Call(ctx, s.client, true, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.RenewSession, in)
	if err == nil {
		s.until.Store(locked.GetLockedUntilMs())
	}
	return err
}

// ID returns the id of the session, the group id of its messages.
func (s *Session) ID() string { return s.ref.GetSessionId() }

// Token returns the token of the lock, for Resume.
func (s *Session) Token() string { return s.ref.GetToken() }

// LockedUntil returns the end of the lock in log time; zero for a session that was resumed
// and not renewed.
func (s *Session) LockedUntil() time.Time { return timeOf(s.until.Load()) }

// Lost returns a channel that is closed when the lock is lost. Others then receive the
// messages.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Receive receives up to 10 messages of the session, waiting up to 20 seconds for the first.
// It repeats a call under the same attempt id, which returns the messages of a lost answer.
// If it still fails with the reason OutcomeUnknown, release the session and accept it again:
// the messages come again in order, while another Receive would skip them.
func (s *Session) Receive(ctx context.Context, limit, waitSeconds int32) ([]*seriatimpb.Message, error) {
	out, err := s.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: s.queue, Session: s.ref, MaxMessages: &limit,
		WaitSeconds: &waitSeconds})
	return out.GetMessages(), err
}

// State reads the state of the session, nil if it has none.
func (s *Session) State(ctx context.Context) ([]byte, error) {
	in := &seriatimpb.GetSessionStateRequest{Queue: s.queue, Session: s.ref}
	out, err := Call(ctx, s.client, true, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.GetSessionState, in)
	return out.GetState(), err
}

// SetState sets the state of the session; nil clears it.
func (s *Session) SetState(ctx context.Context, state []byte) error {
	in := &seriatimpb.SetSessionStateRequest{Queue: s.queue, Session: s.ref, State: state}
	_, err := Call(ctx, s.client, true, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.SetSessionState, in)
	return err
}

// Release ends the lock and the renewals. Messages in flight become visible at once, and
// this receive of them does not count. Releasing a lost lock is no error.
func (s *Session) Release(ctx context.Context) error {
	s.stop()
	s.renewals.Wait()
	in := &seriatimpb.ReleaseSessionRequest{Queue: s.queue, Session: s.ref}
	_, err := Call(ctx, s.client, true, seriatimpb.NewSessionsClient, seriatimpb.SessionsClient.ReleaseSession, in)
	if Reason(err) == reasonLockLost {
		return nil
	}
	return err
}
