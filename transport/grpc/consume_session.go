package grpc

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// A stream whose connection broke may continue to receive for a while. The attempt ids in a
// session are therefore a series: the stream that resumes repeats the same ids and so gets
// the messages of the earlier stream, in order.

// consumedSession is the session that a stream consumes.
type consumedSession struct {
	ref      queue.SessionRef
	until    queue.Timestamp // end of the lock when the stream was opened
	seconds  queue.Int       // duration of the lock
	every    time.Duration   // between two renewals
	accepted bool            // by this stream, whose clean end releases it
	resuming bool            // receives of an earlier stream may be repeated; used by receive
	lost     chan error      // capacity 1: a settlement found the lock lost

	abandoned abandonments
}

// attemptIDMax leaves room for the number that nextAttempt appends.
const attemptIDMax = 100

// openSession locks the session of a stream, or renews its lock; nil without a session.
func (c *call) openSession(ctx context.Context, open *seriatimpb.ConsumeOpen) (*consumedSession, error) {
	in := open.GetSession()
	if in == nil {
		return nil, nil //nolint:nilnil // most streams consume no session
	}
	wait, err := c.checkOpenSession(ctx, open)
	if err != nil {
		return nil, err
	}
	s := &consumedSession{seconds: domainInt(in.LockSeconds), accepted: in.GetLocked() == nil, resuming: true, lost: make(chan error, 1)}
	if err := c.Read(ctx, func(v queue.View) error { return s.setInterval(v, c.queue) }); err != nil {
		return nil, err
	}
	if s.accepted {
		err = c.acceptFor(ctx, s, in, wait)
	} else if s.ref, err = c.session(ctx, in.GetLocked()); err == nil {
		err = c.renewFor(ctx, s)
	}
	return s, err
}

// checkOpenSession checks the values that no command checks. A negative wait lasts as long as
// the stream.
func (c *call) checkOpenSession(ctx context.Context, open *seriatimpb.ConsumeOpen) (wait time.Duration, err error) {
	in := open.GetSession()
	var refused *queue.Error
	switch {
	case open.VisibilityTimeoutSeconds != nil:
		refused = refusal.New(refusal.UnsupportedOperation, "Messages of a session are locked as long as their session, and have no "+
			"visibility timeout. Give lock_seconds instead.")
	case len(open.GetAttemptId()) > attemptIDMax:
		refused = refusal.InvalidValue(open.GetAttemptId(), "attempt_id", "It has at most 100 characters in a session.")
	case in.GetLocked() != nil && (in.SessionId != nil || in.WaitSeconds != nil || in.AttemptId != nil):
		refused = refusal.InvalidParameter("A session that is locked already is not accepted. Give either locked, or what to accept.")
	case in.GetWaitSeconds() < 0 || in.GetWaitSeconds() > limits.WaitSecondsMax:
		refused = refusal.InvalidValue(strconv.Itoa(int(in.GetWaitSeconds())), "wait_seconds", "Must be >= 0 and <= 20, if provided.")
	case in.WaitSeconds == nil:
		return -1, nil
	default:
		return time.Duration(in.GetWaitSeconds()) * time.Second, nil
	}
	return 0, c.refuse(ctx, refused)
}

// setInterval sets the time between renewals to a third of the lock.
func (s *consumedSession) setInterval(v queue.View, name string) error {
	attributes, refused := v.Typed(name)
	if refused != nil {
		return refused
	}
	// The command refuses a duration that is out of range.
	seconds := min(max(s.seconds.Or(attributes.VisibilitySeconds), 1), limits.VisibilitySecondsMax)
	s.every = time.Duration(seconds) * time.Second / 3
	return nil
}

// acceptFor locks the session for a stream, waiting for one if the request names none.
func (c *call) acceptFor(ctx context.Context, s *consumedSession, in *seriatimpb.ConsumeSession, wait time.Duration) error {
	cmd := &queue.AcceptSession{
		Queue: c.queue, SessionID: groupID(in.SessionId), SessionIDGiven: in.SessionId != nil, LockSeconds: s.seconds,
		AttemptID: in.GetAttemptId(), AttemptIDGiven: in.AttemptId != nil,
	}
	once := wait
	if wait < 0 {
		once = consumeWait
	}
	for {
		locked, err := c.accept(ctx, cmd, once)
		if err == nil {
			s.ref, s.until = queue.SessionRef{SessionID: locked.SessionID, Token: locked.Token.String()}, locked.LockedUntil
			return nil
		}
		if wait >= 0 || !errors.Is(err, errNoSession) {
			return err
		}
	}
}

// renewFor renews the lock of the session that a stream resumes.
func (c *call) renewFor(ctx context.Context, s *consumedSession) error {
	reply, err := c.server.Node.Submit(ctx, &queue.RenewSession{Queue: c.queue, Session: s.ref, LockSeconds: s.seconds})
	locked, err := resultOf[queue.SessionLocked](reply.Result, err)
	s.until = locked.LockedUntil
	return err
}

// renewSession renews the lock until ctx ends or a rule refuses. After any other error the
// next tick retries.
func (s *consumer) renewSession(ctx context.Context) error {
	tick := time.NewTicker(s.session.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.call.permitStill(); err != nil {
			return err
		}
		reply, err := s.call.server.Node.Submit(ctx, &queue.RenewSession{Queue: s.call.queue, Session: s.session.ref,
			LockSeconds: s.session.seconds})
		var refused *queue.Error
		if _, err = resultOf[queue.SessionLocked](reply.Result, err); errors.As(err, &refused) {
			return refused
		}
	}
}

// prepareReceive prepares the next receive of a stream that may resume an earlier one. If the
// earlier one used this attempt id, the receive repeats it. Otherwise messages in flight that
// the client does not have were lost with the connection, and become visible. They do so,
// too, if messages became visible since then, because a repeated receive would skip those.
func (s *consumer) prepareReceive(ctx context.Context) error {
	if s.session == nil {
		return nil
	}
	s.session.abandoned.await()
	if !s.session.resuming {
		return nil
	}
	var unseen []string
	known, returned := false, false
	err := s.call.Read(ctx, func(v queue.View) error {
		inFlight, some, refused := v.InFlightInSession(s.call.queue, s.session.ref)
		if refused != nil {
			return refused
		}
		known, returned = v.AttemptKnown(s.call.queue, s.attempt), some
		for _, handle := range inFlight {
			if text := handle.String(); !s.held.has(text) {
				unseen = append(unseen, text)
			}
		}
		return nil
	})
	if err != nil || known && !returned {
		return err
	}
	if known {
		if s.attempt, err = s.call.server.newAttemptID(); err != nil {
			return err
		}
	}
	s.session.resuming = false
	// A message that was deleted meanwhile fails alone.
	_, _, err = s.giveBackAt(ctx, unseen)
	return err
}

// skipAttempt continues after a receive that cannot be repeated, because some of its messages
// are gone: prepareReceive makes the others visible, to be received under a new id.
func (s *consumer) skipAttempt() (err error) {
	s.session.resuming = true
	s.attempt, err = s.call.server.newAttemptID()
	return err
}

// holdInOrder adds received messages to the deliveries. It makes those visible again that
// follow a message abandoned meanwhile.
func (s *consumer) holdInOrder(ctx context.Context, received *queue.MessagesReceived, index uint64, until time.Time) error {
	if received.Replayed {
		index = 0 // the first receive is in an earlier entry
	}
	back := s.session.abandoned.passed(index, received.Messages, func(keep []queue.ReceivedMessage) {
		received.Messages = keep
		s.held.hold(keep, index, until)
	})
	if len(back) == 0 {
		return nil
	}
	_, _, err := s.giveBackAt(ctx, back)
	return err
}

// endIfLost ends the stream if a settlement found the session lock lost.
func (s *consumedSession) endIfLost(done queue.EntriesDone) {
	if err := sessionLost(s.ref, done); err != nil {
		select {
		case s.lost <- err:
		default: // the stream ends already
		}
	}
}

// sessionRef returns the session of the stream, zero if it has none.
func (s *consumer) sessionRef() queue.SessionRef {
	if s.session == nil {
		return queue.SessionRef{}
	}
	return s.session.ref
}

// nextAttempt returns the id that follows an id in the series of a session.
func nextAttempt(id string) string {
	at := strings.LastIndexByte(id, '.')
	number, err := strconv.ParseUint(id[at+1:], 10, 32)
	if at < 0 || err != nil {
		return id + ".1"
	}
	return id[:at+1] + strconv.FormatUint(number+1, 10)
}
