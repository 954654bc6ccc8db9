package reference

import (
	"cmp"
	"maps"
	"slices"
)

// session is the lock and the state of a message group (servicebus.md 3).
type session struct {
	name  string
	lock  int // 0: not locked
	until int64
	// attempt is the attempt id of the lock's acceptance, nil without one.
	attempt *string
	state   *string // nil: not set, or cleared
	setAt   int64
}

// SessionRef names the lock of a session. Lock is 0 if the token was never issued.
type SessionRef struct {
	ID   string
	Lock int
}

// Locked is the answer to Accept and Renew; Lock is 0 if no session is free.
type Locked struct {
	ID    string
	Lock  int
	Until int64
}

// lockOf returns the lock of a group, 0 if it is not locked.
func (q *Queue) lockOf(group string, now int64) int {
	if s := q.sessions[group]; s != nil && s.lock != 0 && now < s.until {
		return s.lock
	}
	return 0
}

// endSessions deletes locks that have ended. The messages in flight under them become visible, and
// their receives count.
func (b *Broker) endSessions(q *Queue) {
	for name, s := range q.sessions { // in any order, as they are independent
		if s.lock != 0 && b.now >= s.until {
			q.unlock(name)
		}
	}
}

func (q *Queue) unlock(name string) {
	s := q.sessions[name]
	s.lock, s.until, s.attempt = 0, 0, nil
	if s.state == nil {
		delete(q.sessions, name)
	}
}

// taken reports whether a client receives from the group, in a session or with a visibility timeout
// (servicebus.md 5.1: both lock the group). A deferred message is no longer part of the group.
func (b *Broker) taken(q *Queue, group string) bool {
	if q.lockOf(group, b.now) != 0 {
		return true
	}
	return slices.ContainsFunc(q.messages, func(m *Message) bool {
		return m.Grouped && m.Group == group && !m.Deferred && b.inFlight(q, m)
	})
}

// AcceptRequest locks a session, or the next free one that has a message; nil means not given.
type AcceptRequest struct {
	ID      *string
	Seconds *int64
	Attempt *string
}

// Accept locks a session. If it is repeated with its attempt id during the lock, it returns the
// same lock and extends it.
func (b *Broker) Accept(name string, r AcceptRequest) (Locked, *Error) {
	id := r.ID
	q, err := b.find(name)
	if err != nil {
		return Locked{}, err
	}
	if id != nil && !goodNative(*id, true) || badLockTime(r.Seconds) || r.Attempt != nil && !goodID(*r.Attempt) {
		return Locked{}, &Error{Code: "InvalidParameterValue"}
	}
	if err := q.refusesReceives(); err != nil {
		return Locked{}, err
	}
	if !q.needsGroup() {
		return Locked{}, &Error{Code: "UnsupportedOperation"}
	}
	until := b.now + or(r.Seconds, max(1, q.Settings.Visibility))*1000
	if s := b.accepted(q, r.Attempt); s != nil {
		if id != nil && *id != s.name {
			return Locked{}, &Error{Code: "InvalidParameterValue"}
		}
		s.until = until
		return Locked{s.name, s.lock, s.until}, nil
	}
	if id == nil {
		if id = b.FreeSession(q); id == nil {
			return Locked{}, nil
		}
	} else if b.taken(q, *id) {
		return Locked{}, &Error{Code: "SessionCannotBeLocked"}
	}
	s := q.sessions[*id]
	if s == nil {
		s = &session{name: *id}
		q.sessions[*id] = s
	}
	b.lastLock++
	s.lock, s.until, s.attempt = b.lastLock, until, r.Attempt
	return Locked{s.name, s.lock, s.until}, nil
}

// accepted returns the session that was accepted with an attempt id, if its lock is still in force.
func (b *Broker) accepted(q *Queue, attempt *string) *session {
	if attempt == nil {
		return nil
	}
	for name, s := range q.sessions { // at most one
		if s.attempt != nil && *s.attempt == *attempt && q.lockOf(name, b.now) != 0 {
			return s
		}
	}
	return nil
}

// Accepted reports whether an acceptance with this attempt id would return a lock again.
func (b *Broker) Accepted(q *Queue, attempt string) bool { return b.accepted(q, &attempt) != nil }

func badLockTime(seconds *int64) bool {
	return seconds != nil && (*seconds < 1 || *seconds > 43_200)
}

// FreeSession returns the next group without a receiver, or nil.
func (b *Broker) FreeSession(q *Queue) *string {
	if !q.needsGroup() || q.Withheld() != "" {
		return nil
	}
	for _, part := range b.servingOrder(q) {
		head := part[0]
		if head.Grouped && !b.over(q, head) && !b.taken(q, head.Group) {
			return new(head.Group)
		}
	}
	return nil
}

// open returns the session of a lock, unless the lock has ended.
func (b *Broker) open(q *Queue, ref SessionRef) (*session, *Error) {
	if ref.Lock == 0 || q.lockOf(ref.ID, b.now) != ref.Lock {
		return nil, &Error{Code: "SessionLockLost"}
	}
	return q.sessions[ref.ID], nil
}

// Renew extends a lock from now on.
func (b *Broker) Renew(name string, ref SessionRef, seconds *int64) (Locked, *Error) {
	q, err := b.find(name)
	if err != nil {
		return Locked{}, err
	}
	if badLockTime(seconds) {
		return Locked{}, &Error{Code: "InvalidParameterValue"}
	}
	s, err := b.open(q, ref)
	if err != nil {
		return Locked{}, err
	}
	s.until = b.now + or(seconds, max(1, q.Settings.Visibility))*1000
	return Locked{s.name, s.lock, s.until}, nil
}

// Release ends a lock. The receives of its remaining messages do not count (servicebus.md 3).
func (b *Broker) Release(name string, ref SessionRef) *Error {
	q, err := b.find(name)
	if err != nil {
		return err
	}
	s, err := b.open(q, ref)
	if err != nil {
		return err
	}
	b.takeBack(q, s.name, s.lock)
	q.unlock(s.name)
	return nil
}

func (b *Broker) takeBack(q *Queue, group string, lock int) {
	for _, m := range q.messages {
		if m.Grouped && m.Group == group && m.Lock == lock {
			m.Receives--
			m.HandedOut--
		}
	}
}

// SetState sets or clears the state of a session.
func (b *Broker) SetState(name string, ref SessionRef, state *string) *Error {
	q, err := b.find(name)
	if err != nil {
		return err
	}
	s, err := b.open(q, ref)
	if err != nil {
		return err
	}
	if state != nil && int64(len(*state)) > q.Settings.MaxSize {
		return &Error{Code: "InvalidParameterValue"}
	}
	s.state, s.setAt = state, 0
	if state != nil {
		s.setAt = b.now
	}
	return nil
}

// State returns the state of a session, or nil.
func (b *Broker) State(q *Queue, ref SessionRef) (*string, *Error) {
	s, err := b.open(q, ref)
	if err != nil {
		return nil, err
	}
	return s.state, nil
}

// SessionInfo is an entry in a list of sessions.
type SessionInfo struct {
	ID     string
	SetAt  int64
	Bytes  int
	Locked int64 // until when, 0: not locked
}

// Sessions returns the sessions with a state, in the order in which the states were set.
func (b *Broker) Sessions(q *Queue) []SessionInfo {
	var list []SessionInfo
	for _, name := range slices.Sorted(maps.Keys(q.sessions)) {
		if s := q.sessions[name]; s.state != nil {
			list = append(list, SessionInfo{name, s.setAt, len(*s.state), s.until})
		}
	}
	slices.SortStableFunc(list, func(x, y SessionInfo) int { return cmp.Compare(x.SetAt, y.SetAt) })
	return list
}

// Locks returns the locks of a queue, for a generator of histories.
func (q *Queue) Locks(now int64) (list []SessionRef) {
	for _, name := range slices.Sorted(maps.Keys(q.sessions)) {
		if lock := q.lockOf(name, now); lock != 0 {
			list = append(list, SessionRef{name, lock})
		}
	}
	return list
}

// Released is the answer to ReleaseGroup.
type Released struct {
	Messages int64
	Session  bool
}

// ReleaseGroup ends the lock of a group's session and the visibility timeouts of its messages.
func (b *Broker) ReleaseGroup(name, group string) (Released, *Error) {
	q, err := b.find(name)
	if err != nil {
		return Released{}, err
	}
	if !q.FIFO {
		return Released{}, &Error{Code: "UnsupportedOperation"}
	}
	if !goodNative(group, true) {
		return Released{}, &Error{Code: "InvalidParameterValue"}
	}
	var out Released
	for _, m := range q.messages {
		if m.Group != group || m.Deferred || !b.inFlight(q, m) {
			continue
		}
		out.Messages++
		if m.Lock == 0 {
			m.HiddenTill = b.now
			b.touch(q, m)
		}
	}
	if q.lockOf(group, b.now) != 0 {
		out.Session = true
		q.unlock(group)
	}
	return out, nil
}
