package queue

import (
	"math"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// Expiry happens only here: at the start of each command for the queue it names, and in
// AdvanceClock. Each run handles a bounded number of records and leaves the others for the next
// run. Rules that must be exact, such as the validity of a handle, compare times themselves.

// expiryBudget bounds the timers and records that one AdvanceClock expires. A command on a queue
// expires at most queueExpiryBudget of that queue.
const (
	expiryBudget      = 1000
	queueExpiryBudget = 64
)

// queueDeadline orders queues by their next work for AdvanceClock.
type queueDeadline struct {
	at          Timestamp
	incarnation uint64
	name        string
}

func (a queueDeadline) less(b queueDeadline) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	return a.incarnation < b.incarnation
}

// Expired records affect no rule. Rounding up their deadlines lets an idle cluster expire many of
// them with one entry.
const (
	retentionStep = 1 * logtime.Second
	forgetStep    = 10 * logtime.Second
)

func roundUp(t Timestamp, step logtime.Duration) Timestamp {
	return (t + Timestamp(step) - 1) / Timestamp(step) * Timestamp(step)
}

// NextDeadline returns the earliest log time at which AdvanceClock has work, zero if there is none.
func (b *Broker) NextDeadline() Timestamp {
	if b.releases.some() {
		return b.now
	}
	return b.RecordsDeadline()
}

// RecordsDeadline returns NextDeadline without publications to release. A replica that was just
// restored has none of those, but the same records.
func (b *Broker) RecordsDeadline() Timestamp {
	next := b.tombstones.deadline()
	if d, ok := b.deadlines.Min(); ok && (next == 0 || d.at < next) {
		next = d.at
	}
	if at := b.topics.Deadline(); at != 0 && (next == 0 || at < next) {
		next = at
	}
	return next
}

// updateDeadline updates the queue's entry in the index of deadlines.
func (b *Broker) updateDeadline(q *Queue) {
	at := q.nextDeadline()
	if at == q.deadline {
		return
	}
	if q.deadline != 0 {
		b.deadlines.Delete(queueDeadline{q.deadline, q.incarnation, q.name})
	}
	if q.deadline = at; at != 0 {
		b.deadlines.Set(queueDeadline{at, q.incarnation, q.name})
	}
}

// nextDeadline returns the next time at which the queue has work, zero if never. It depends on
// records alone, not on the present time, because every replica must visit the same queues in one
// AdvanceClock.
func (q *Queue) nextDeadline() Timestamp {
	next := Timestamp(math.MaxInt64)
	if t, ok := q.timers.pending.Min(); ok {
		next = t.at
	}
	if t, ok := q.scheduledByTime.Min(); ok {
		next = min(next, t.at)
	}
	if end, ok := q.groups.sessions.FirstEnd(); ok {
		next = min(next, end.At)
	}
	if t, ok := q.ready.firstDelivery.Min(); ok && q.firstDeliveryDelay() > 0 {
		// The end of the queue's delay wakes receivers. Earlier ends need no clock: their messages
		// can be received.
		if at := t.at.Add(q.firstDeliveryDelay()); at > q.timers.fired.at {
			next = min(next, at)
		}
	}
	if at := q.sessionDelayEnd(q.timers.fired.at); at != 0 {
		next = min(next, at)
	}
	if at := q.forwardDeadline(); at != 0 {
		next = min(next, at)
	}
	if at := q.firstExpiry(); at != 0 {
		next = min(next, roundUp(at, retentionStep))
	}
	if t, ok := q.byTimeToLive.Min(); ok && q.attributes.DeadLetterExpired {
		next = min(next, t.at) // receivers of the dead-letter queue may wait
	}
	if at := q.deduplication.Deadline(); at != 0 {
		next = min(next, roundUp(at, forgetStep))
	}
	if at := q.idleDeadline(); at != 0 {
		next = min(next, at)
	}
	if at := q.attemptDeadline(); at != 0 {
		next = min(next, roundUp(at, forgetStep))
	}
	if next == math.MaxInt64 {
		return 0
	}
	return next
}

// expire does at most budget units of due work and returns the remaining budget.
func (b *Broker) expire(q *Queue, budget int) int {
	budget = b.expireWithin(q, budget)
	budget = b.endTimesToLive(q, budget)
	budget = q.deduplication.Forget(b.key, b.now, budget)
	return q.forgetAttempts(b.key, b.now, budget)
}

// expireWithin does the due work on messages that changes no other queue.
func (b *Broker) expireWithin(q *Queue, budget int) int {
	budget = b.fireTimers(q, budget)
	budget = b.expireSessions(q, budget)
	budget = b.activateScheduled(q, budget)
	return b.expireMessages(q, budget)
}

// timerIndex holds messages hidden by a visibility timeout, or on a standard queue by their delay.
type timerIndex struct {
	pending *btree.BTreeG[timed]
	// fired is the last timer that fired, and part of the state. Every later timer is pending, even
	// if it is due but the budget was exhausted. So a restored replica has the same pending timers.
	fired    timed
	inFlight int64
	delayed  int64
}

func (t *timerIndex) key(m *Message) timed { return timed{m.delivery.visibleAt, m.sequence} }

// add reports whether the timer of m is pending.
func (t *timerIndex) add(m *Message) bool {
	key := t.key(m)
	if !t.fired.less(key) {
		return false
	}
	t.pending.Set(key)
	t.count(m, 1)
	return true
}

func (t *timerIndex) remove(m *Message) bool {
	if _, was := t.pending.Delete(t.key(m)); !was {
		return false
	}
	t.count(m, -1)
	return true
}

func (t *timerIndex) count(m *Message, by int64) {
	if m.delivered() {
		t.inFlight += by
	} else {
		t.delayed += by
	}
}

// fireTimers shows messages whose delay or visibility timeout ended.
func (b *Broker) fireTimers(q *Queue, budget int) int {
	from := q.timers.fired.at
	budget = b.fireDue(q, budget)
	if end := q.sessionDelayEnd(from); end != 0 && end <= q.timers.fired.at {
		q.groups.sessions.Wake()
	}
	return budget
}

// sessionDelayEnd returns the first end of the queue's delay after a time, zero if there is none.
// The indexes of available messages exclude locked groups, so it considers all messages.
func (q *Queue) sessionDelayEnd(after Timestamp) Timestamp {
	delay := q.firstDeliveryDelay()
	if delay == 0 || q.groups.sessions.Locks() == 0 {
		return 0
	}
	_, m, some := q.messages.Search(func(m *Message) bool { return m.sentAt.Add(delay) > after })
	if !some {
		return 0
	}
	return m.sentAt.Add(delay)
}

func (b *Broker) fireDue(q *Queue, budget int) int {
	for {
		t, ok := q.timers.pending.Min()
		if !ok || t.at > b.now {
			q.timers.fired = timed{b.now, lastTimed}
			return budget
		}
		if budget == 0 {
			return 0
		}
		budget--
		q.timers.pending.Delete(t)
		q.timers.fired = t
		m, _ := q.messages.Get(t.sequence)
		q.timers.count(m, -1)
		q.show(m)
	}
}

// firstExpiry returns the first time at which a message expires, zero: never.
func (q *Queue) firstExpiry() (at Timestamp) {
	if sentAt, some := q.oldest(); some && q.attributes.Retention() > 0 {
		at = sentAt.Add(q.attributes.Retention())
	}
	if t, some := q.byTimeToLive.Min(); some && (at == 0 || t.at < at) {
		at = t.at
	}
	return at
}

// expireMessages deletes messages older than the retention period, except for deferred ones.
func (b *Broker) expireMessages(q *Queue, budget int) int {
	expired := 0
	for ; budget > 0; budget-- {
		m, ok := q.oldestMessage()
		if !ok || !q.pastRetention(m, b.now) {
			break
		}
		q.remove(b.key, m)
		expired++
	}
	if expired > 0 {
		b.emit(MessagesExpired, q.name, expired)
	}
	return budget
}

// oldestMessage returns the message with the earliest sentAt, except for deferred ones. Sequence
// numbers rise with sentAt except in byAge, which orders messages that kept their age in a move.
func (q *Queue) oldestMessage() (*Message, bool) {
	first, ok := q.messages.Min()
	if aged, some := q.byAge.Min(); some && aged.at < first.sentAt {
		return q.messages.Get(aged.sequence)
	}
	return first, ok
}

func (q *Queue) oldest() (Timestamp, bool) {
	m, ok := q.oldestMessage()
	if !ok {
		return 0, false
	}
	return m.sentAt, true
}

// A message with a time to live (Service Bus) is not expired while it is in flight: its receiver can
// still complete it.

// timeToLive returns the time to live of m, zero if it has none.
func (m *Message) timeToLive() logtime.Duration {
	if m.extra == nil {
		return 0
	}
	return m.extra.timeToLive
}

// expiry returns the time at which m expires if its age counts from a time, zero if never.
func (q *Queue) expiry(m *Message, from, now Timestamp) (at Timestamp) {
	if age := m.timeToLive(); age > 0 {
		at = from.Add(age)
		if m.delivered() && q.inFlightNow(m, now) {
			at = max(at, q.inFlightUntil(m))
		}
	}
	if age := q.attributes.Retention(); age > 0 && (at == 0 || from.Add(age) < at) {
		at = from.Add(age)
	}
	return at
}

// outlived reports whether the time to live of m has ended at now.
func (q *Queue) outlived(m *Message, now Timestamp) bool {
	ttl := m.timeToLive()
	return ttl > 0 && now.Sub(m.sentAt) >= ttl && !(m.delivered() && q.inFlightNow(m, now))
}

// timeToLiveKey returns the key of m in byTimeToLive. A message under a session lock is not there,
// because the lock can be renewed.
func (m *Message) timeToLiveKey() timed {
	key := timed{m.sentAt.Add(m.timeToLive()), m.sequence}
	if m.delivered() {
		key.at = max(key.at, m.delivery.visibleAt)
	}
	return key
}

func (q *Queue) noteTimeToLive(m *Message) {
	if m.timeToLive() != 0 && !q.held(m) {
		q.byTimeToLive.Set(m.timeToLiveKey())
	}
}

func (q *Queue) forgetTimeToLive(m *Message) {
	if m.timeToLive() != 0 {
		q.byTimeToLive.Delete(m.timeToLiveKey())
	}
}

// endTimesToLive removes messages whose time to live has ended.
func (b *Broker) endTimesToLive(q *Queue, budget int) int {
	var ended []*Message
	q.byTimeToLive.Scan(func(t timed) bool {
		if t.at > b.now || len(ended) == budget {
			return false
		}
		m, _ := q.messages.Get(t.sequence)
		ended = append(ended, m)
		return true
	})
	b.removeOutlived(q, ended)
	return budget - len(ended)
}

// Reason of a message whose time to live ended, as in Service Bus.
const (
	reasonExpired      = "TTLExpiredException"
	descriptionExpired = "The message expired and was dead lettered."
)

// removeOutlived deletes messages whose time to live has ended, or moves them to the dead-letter
// queue.
func (b *Broker) removeOutlived(q *Queue, messages []*Message) {
	if len(messages) == 0 {
		return
	}
	for _, m := range messages {
		if m.delivered() {
			q.endAttempt(b.key, m, true)
		}
	}
	if q.attributes.DeadLetterExpired && b.redriveRule(q).target != nil {
		why := DeadLetterEntry{Reason: reasonExpired, Description: descriptionExpired}
		b.deadLetterFor(q, messages, why.attributes(), nil)
		return
	}
	for _, m := range messages {
		q.remove(b.key, m)
	}
	b.emit(MessagesExpired, q.name, len(messages))
}

// AdvanceClock advances log time: due timers fire, a bounded number per command.
type AdvanceClock struct {
	// LeadingSince is the time from which the leader has served. Before, clients may have had no node to use
	// a queue or topic, so that no time before counts as idle.
	LeadingSince Timestamp
}

// QueueName implements Command.
func (*AdvanceClock) QueueName() string { return "" }

// Validate implements Command.
func (*AdvanceClock) Validate() *Error { return nil }

func (c *AdvanceClock) apply(b *Broker) (Result, *Error) {
	b.index() // the deadlines must include earlier commands of the entry
	budget := b.publishScheduled(b.tombstones.expire(b, expiryBudget))
	for budget > 0 {
		next, ok := b.deadlines.Min()
		if !ok || next.at > b.now {
			break
		}
		q := b.begin(next.name)
		// Each visited queue costs one unit, which bounds the number of queues per entry.
		budget = b.forwardFrom(q, b.expire(q, budget-1))
		if q.idle(b.now) {
			budget -= b.endIdle(q, c.LeadingSince)
			continue
		}
		b.updateDeadline(q)
	}
	budget = b.endIdleTopics(c.LeadingSince, budget)
	budget = b.topics.Expire(b.key, b.now, budget)
	b.removeUnconfirmed(budget)
	b.releases.step(releaseClockBudget)
	return Done{}, nil
}
