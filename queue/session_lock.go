package queue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// A locked group is in no index of available messages: its receiver reads it through the session.
// Its received messages are in flight as long as the group has that lock, so a lock ends in
// constant time unless messages have a time to live.

// putSession stores a session. A group that becomes locked leaves the indexes. Only a restored lock
// already has messages in flight.
func (q *Queue) putSession(k statehash.Key, r session.Record) {
	locks := r.Lock != 0 && !q.groups.sessions.Locked(r.Name)
	if head := q.groups.head(r.Name); locks && head != 0 {
		if m, _ := q.messages.Get(head); !q.pending(m) {
			q.ready.index(q.hasTimer(m)).Delete(q.readyKey(m))
		}
	}
	q.groups.sessions.Put(k, r)
	if !locks || r.Next == 0 {
		return
	}
	q.groups.walk(r.Name, func(sequence uint64) bool {
		m, _ := q.messages.Get(sequence)
		switch {
		case sequence >= r.Next:
			return false
		case q.held(m):
			q.forgetTimeToLive(m)
			q.groups.sessions.Claim(r.Name, 1)
		case !q.pending(m):
			q.groups.sessions.Return(r.Name, sequence)
		}
		return true
	})
}

// unlockSession ends a lock. Its messages in flight become available in their old places.
func (q *Queue) unlockSession(k statehash.Key, name string) {
	r, _ := q.groups.sessions.Get(name)
	next := r.Next
	q.groups.sessions.Unlock(k, name)
	if q.mortal > 0 {
		q.groups.walk(name, func(sequence uint64) bool {
			m, _ := q.messages.Get(sequence)
			q.noteTimeToLive(m)
			return sequence < next
		})
	}
	if head := q.groups.head(name); head != 0 {
		m, _ := q.messages.Get(head)
		q.promote(m)
	}
}

// expireSessions ends expired locks.
func (b *Broker) expireSessions(q *Queue, budget int) int {
	for ; budget > 0; budget-- {
		end, ok := q.groups.sessions.FirstEnd()
		if !ok || end.At > b.now {
			break
		}
		q.unlockSession(b.key, end.Name)
	}
	return budget
}

// takenBackMax bounds the messages that ReleaseSession examines: that many of the group, and that
// many deferred ones. Receives of further messages count, as if the lock expired.
const takenBackMax = 1000

// takeBack reverses the receive count of messages in flight under a lock.
func (q *Queue) takeBack(k statehash.Key, r *session.Record) {
	var held []*Message
	visited := 0
	q.groups.walk(r.Name, func(sequence uint64) bool {
		m, _ := q.messages.Get(sequence)
		if sequence < r.Next && q.held(m) {
			held = append(held, m)
		}
		visited++
		return sequence < r.Next && visited < takenBackMax
	})
	visited = 0
	q.deferred.Scan(func(_ uint64, m *Message) bool {
		if m.group == r.Name && q.held(m) {
			held = append(held, m)
		}
		visited++
		return visited < takenBackMax
	})
	for _, m := range held {
		d := *m.delivery
		d.takeBack()
		q.replace(k, m, m.withDelivery(&d))
	}
}

// takeBack reverses the count of the last delivery.
func (d *delivery) takeBack() {
	d.takenBack++
	d.receiveCount--
}

// inFlightNow reports whether the visibility timeout or the session lock of a delivered message
// lasts at now.
func (q *Queue) inFlightNow(m *Message, now Timestamp) bool {
	if m.delivery.session == 0 {
		return m.delivery.visibleAt > now
	}
	r, ok := q.groups.sessions.Get(m.group)
	return ok && r.Lock == m.delivery.session && r.Locked(now)
}

// inFlightUntil returns the end of the visibility timeout or of the session lock of a message in
// flight.
func (q *Queue) inFlightUntil(m *Message) Timestamp {
	if m.delivery.session == 0 {
		return m.delivery.visibleAt
	}
	r, _ := q.groups.sessions.Get(m.group)
	return r.LockedUntil
}

// isTaken reports whether a group is locked as a session or has messages in flight.
func (q *Queue) isTaken(group string, now Timestamp) bool {
	r, ok := q.groups.sessions.Get(group)
	return ok && r.Locked(now) || len(q.groupInFlight(group, now)) > 0
}

// groupInFlight returns the messages of a group that are in flight outside of a session. It
// searches the first ones only: no message is delivered past one in flight, and one receive
// delivers a limited number.
func (q *Queue) groupInFlight(group string, now Timestamp) (found []*Message) {
	visited, counted := 0, 0
	q.groups.walk(group, func(sequence uint64) bool {
		m, _ := q.messages.Get(sequence)
		if m.delivered() && m.delivery.session == 0 && m.delivery.visibleAt > now {
			found = append(found, m)
		}
		if !q.expired(m, now) { // a receive skipped expired messages
			counted++
		}
		visited++
		return counted < limits.ReceiveMessagesMax && visited < expiryBudget
	})
	return found
}

// freeSession returns the next available group without a receiver.
func (q *Queue) freeSession(now Timestamp) (name string, found bool) {
	s := selection{q: q, now: now}
	var redelivered, first timed
	haveRedelivered, haveFirst := s.first(&redelivered, true), s.first(&first, false)
	for budget := expiryBudget; (haveRedelivered || haveFirst) && budget > 0; budget-- {
		sequence := first.sequence
		if haveRedelivered && (!haveFirst || redelivered.less(first)) {
			sequence = redelivered.sequence
			haveRedelivered = s.after(&redelivered, true, redelivered)
		} else {
			haveFirst = s.after(&first, false, first)
		}
		m, _ := q.messages.Get(sequence)
		if q.ordered(m) && !q.expired(m, now) && !q.isTaken(m.group, now) {
			return strings.Clone(m.group), true // the session may outlive the message, see messageMap
		}
	}
	return "", false
}

// compareSessions compares in-flight and returned messages of sessions with those built from
// records.
func (q *Queue) compareSessions(other *Queue) (err error) {
	mine, theirs := &q.groups.sessions, &other.groups.sessions
	if mine.InFlight() != theirs.InFlight() {
		return fmt.Errorf("%d messages in flight in sessions, the records give %d", mine.InFlight(), theirs.InFlight())
	}
	returned := func(t *session.Table, name string) (all []uint64) {
		t.Returned(name, func(sequence uint64) bool { all = append(all, sequence); return true })
		return all
	}
	mine.Scan(func(r *session.Record) bool {
		if have, want := mine.InFlightOf(r.Name), theirs.InFlightOf(r.Name); have != want {
			err = fmt.Errorf("%d messages in flight in the session %q, the records give %d", have, r.Name, want)
		} else if have, want := returned(mine, r.Name), returned(theirs, r.Name); !slices.Equal(have, want) {
			err = fmt.Errorf("%v given back to the session %q, the records give %v", have, r.Name, want)
		}
		return err == nil
	})
	return err
}
