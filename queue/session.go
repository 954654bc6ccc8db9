package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
)

// AcceptSession locks a message group for one receiver.
type AcceptSession struct {
	Queue string
	// SessionID is the group. Without it, the next available group that has no receiver is locked.
	SessionID      string
	SessionIDGiven bool
	LockSeconds    Int // 1..43200, default the queue's visibility timeout, at least 1
	// AttemptID makes a retry safe: repeated while the lock lasts, it returns the same lock and
	// renews it.
	AttemptID      string
	AttemptIDGiven bool
}

// QueueName implements Command.
func (c *AcceptSession) QueueName() string { return c.Queue }

// Validate checks the session id, the attempt id and the lock duration.
func (c *AcceptSession) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if c.SessionIDGiven && !message.ValidNativeGroup(c.SessionID) {
		return message.InvalidNativeID(c.SessionID, "SessionId")
	}
	if c.AttemptIDGiven && !message.ValidID(c.AttemptID) {
		return message.InvalidID(c.AttemptID, "AttemptId")
	}
	return checkLockSeconds(c.LockSeconds)
}

func checkLockSeconds(v Int) *Error {
	if v.Given && (v.Value < 1 || v.Value > limits.VisibilitySecondsMax) {
		return refusal.InvalidValue(v.text(), "LockSeconds", "Must be between 1 and 43200, if provided.")
	}
	return nil
}

// SessionLocked answers AcceptSession and RenewSession. It is zero if no session is available.
type SessionLocked struct {
	SessionID   string
	Token       identifier.SessionToken // proves the lock in later commands
	LockedUntil Timestamp
}

func (SessionLocked) result() {}

func (c *AcceptSession) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if err := q.refusesReceives(); err != nil {
		return nil, err
	}
	if !q.hasSessions() {
		return nil, noSessions()
	}
	if r, again := q.sessionOfAttempt(b, c); again {
		return b.acceptAgain(q, r, c)
	}
	name := c.SessionID
	if c.SessionIDGiven {
		if q.isTaken(name, b.now) {
			return nil, sessionTaken(name)
		}
	} else {
		free, found := q.freeSession(b.now)
		if !found || q.attributes.DeliveryPaused {
			return SessionLocked{}, nil
		}
		name = free
	}
	r := session.Record{Name: name}
	if known, ok := q.groups.sessions.Get(name); ok {
		r = *known
	}
	if r.Lock != 0 { // the lock ended, but has not expired yet
		q.unlockSession(b.key, name)
	}
	r.Lock, r.Next, r.LockedUntil, r.AttemptID = q.groups.sessions.NewLock(), 0, b.lockedUntil(q, c.LockSeconds), ""
	if c.AttemptIDGiven {
		r.AttemptID = c.AttemptID
	}
	q.putSession(b.key, r)
	return b.sessionLocked(q, &r), nil
}

// sessionOfAttempt finds the active lock of an earlier acceptance with the same attempt id.
func (q *Queue) sessionOfAttempt(b *Broker, c *AcceptSession) (*session.Record, bool) {
	if !c.AttemptIDGiven {
		return nil, false
	}
	r, ok := q.groups.sessions.OfAttempt(c.AttemptID)
	if ok && !r.Locked(b.now) { // the lock ended, but has not expired yet
		q.unlockSession(b.key, r.Name)
		return nil, false
	}
	return r, ok
}

// acceptAgain repeats the answer to an acceptance and renews the lock.
func (b *Broker) acceptAgain(q *Queue, r *session.Record, c *AcceptSession) (Result, *Error) {
	if c.SessionIDGiven && c.SessionID != r.Name {
		return nil, refusal.InvalidValue(c.AttemptID, "AttemptId", "Another session was accepted with this id.")
	}
	renewed := *r
	renewed.LockedUntil = b.lockedUntil(q, c.LockSeconds)
	q.putSession(b.key, renewed)
	return b.sessionLocked(q, &renewed), nil
}

// hasSessions reports whether every message must have a group, as in a queue with sessions on
// Service Bus.
func (q *Queue) hasSessions() bool { return needsGroupID(&q.attributes) }

// noSessions returns the error of Service Bus.
func noSessions() *Error {
	return refusal.New(refusal.UnsupportedOperation,
		"A sessionful message receiver cannot be created on an entity that does not require sessions. "+
			"Ensure RequiresSession is set to true when creating a Queue or Subscription to enable sessionful behavior.")
}

func (b *Broker) lockedUntil(q *Queue, seconds Int) Timestamp {
	return b.now.Add(logtime.Seconds(seconds.Or(max(1, q.attributes.VisibilitySeconds))))
}

func (b *Broker) sessionLocked(q *Queue, r *session.Record) SessionLocked {
	return SessionLocked{
		SessionID: r.Name, Token: identifier.NewSessionToken(b.key, b.epoch, q.incarnation, r.Lock), LockedUntil: r.LockedUntil,
	}
}

// SessionRef identifies a session lock.
type SessionRef struct {
	SessionID string
	Token     string // from SessionLocked
}

// check checks the form of id and token.
func (s *SessionRef) check() *Error {
	if !message.ValidNativeGroup(s.SessionID) {
		return message.InvalidNativeID(s.SessionID, "SessionId")
	}
	if _, ok := identifier.ParseSessionToken(s.Token); !ok {
		return refusal.InvalidValue(s.Token, "SessionToken", "It is not the token of a session.")
	}
	return nil
}

// openSession finds the session of s. It refuses unless this queue issued the token and the lock is
// active.
func (b *Broker) openSession(q *Queue, s SessionRef) (*session.Record, *Error) {
	token, _ := identifier.ParseSessionToken(s.Token)
	number, issued := token.Open(b.key, b.epoch, q.incarnation)
	r, ok := q.groups.sessions.Get(s.SessionID)
	if !issued || !ok || r.Lock != number || !r.Locked(b.now) {
		return nil, sessionLockLost(s.SessionID)
	}
	return r, nil
}

func sessionTaken(id string) *Error {
	return refusal.New(refusal.SessionCannotBeLocked, "The session ", id, " is locked by another receiver.")
}

func sessionLockLost(id string) *Error {
	return refusal.New(refusal.SessionLockLost, "The lock of the session ", id, " is lost. Accept the session again.")
}

// RenewSession extends the lock of a session, counted from now.
type RenewSession struct {
	Queue       string
	Session     SessionRef
	LockSeconds Int // 1..43200, default the queue's visibility timeout, at least 1
}

// QueueName implements Command.
func (c *RenewSession) QueueName() string { return c.Queue }

// Validate checks the session and the lock duration.
func (c *RenewSession) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if err := c.Session.check(); err != nil {
		return err
	}
	return checkLockSeconds(c.LockSeconds)
}

func (c *RenewSession) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	r, err := b.openSession(q, c.Session)
	if err != nil {
		return nil, err
	}
	renewed := *r
	renewed.LockedUntil = b.lockedUntil(q, c.LockSeconds)
	q.putSession(b.key, renewed)
	return b.sessionLocked(q, &renewed), nil
}

// ReleaseSession ends the lock of a session. Messages in flight under it become available, and
// their last receive does not count.
type ReleaseSession struct {
	Queue   string
	Session SessionRef
}

// QueueName implements Command.
func (c *ReleaseSession) QueueName() string { return c.Queue }

// Validate checks the session.
func (c *ReleaseSession) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	return c.Session.check()
}

func (c *ReleaseSession) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	r, err := b.openSession(q, c.Session)
	if err != nil {
		return nil, err
	}
	q.takeBack(b.key, r)
	q.unlockSession(b.key, r.Name)
	return Done{}, nil
}

// SetSessionState stores or clears the state of a session. The state stays when the session has no
// messages.
type SetSessionState struct {
	Queue      string
	Session    SessionRef
	State      string // opaque bytes
	StateGiven bool   // if false, the state is cleared
}

// QueueName implements Command.
func (c *SetSessionState) QueueName() string { return c.Queue }

// Validate checks the session, and the size against the limit of all queues.
func (c *SetSessionState) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if err := c.Session.check(); err != nil {
		return err
	}
	return c.checkSize(limits.MessageBytesMax)
}

func (c *SetSessionState) checkSize(limit int64) *Error {
	if int64(len(c.State)) > limit {
		return refusal.InvalidParameter("The state of a session must not be longer than ", strconv.FormatInt(limit, 10), " bytes.")
	}
	return nil
}

// apply sets the state, which is limited by the queue's MaximumMessageSize.
func (c *SetSessionState) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	r, err := b.openSession(q, c.Session)
	if err == nil {
		err = c.checkSize(q.attributes.MaximumMessageSize)
	}
	if err != nil {
		return nil, err
	}
	changed := *r
	changed.State, changed.StateGiven, changed.StateSetAt = "", false, 0
	if c.StateGiven {
		changed.State, changed.StateGiven, changed.StateSetAt = c.State, true, b.now
	}
	q.putSession(b.key, changed)
	return Done{}, nil
}
