package queue

import (
	"math"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// Expiry happens only here: at the start of each command for the queue it
// names, and in AdvanceClock. It handles a bounded number of items, so that no
// entry takes long; what is left waits for the next one. Rules that must be
// exact (is a handle still valid, is an id a duplicate) compare times
// themselves and never rely on expiry having run.

// expiryBudget bounds the timers and expired records handled by one AdvanceClock;
// commands on a queue handle at most queueExpiryBudget of that queue. What is left
// waits for the next command.
const (
	expiryBudget      = 1000
	queueExpiryBudget = 64
)

// queueDeadline orders queues by when they have work for AdvanceClock.
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

// Records that are dead take part in no rule, so forgetting them may wait for
// a round moment; an idle cluster then writes one entry for many of them.
const (
	retentionStep = 1 * logtime.Second
	forgetStep    = 10 * logtime.Second
)

func roundUp(t Timestamp, step logtime.Duration) Timestamp {
	return (t + Timestamp(step) - 1) / Timestamp(step) * Timestamp(step)
}

// NextDeadline is the earliest log time at which AdvanceClock has work to do,
// or zero if there is none.
func (b *Broker) NextDeadline() Timestamp {
	if b.releases.some() {
		return b.now
	}
	return b.RecordsDeadline()
}

// RecordsDeadline is NextDeadline without what publications are still to be released: a
// replica that was restored meanwhile has none of that to do, and the same deadline of its
// records.
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

// register files the queue under its next deadline.
func (b *Broker) register(q *Queue) {
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

// nextDeadline is when the queue has something to expire next, zero if never.
// It follows from the queue's records alone, not from the present time: which
// queues one AdvanceClock gets to must be the same on every replica.
func (q *Queue) nextDeadline() Timestamp {
	next := Timestamp(math.MaxInt64)
	if t, ok := q.timers.pending.Min(); ok {
		next = t.at
	}
	if t, ok := q.aside.byTime.Min(); ok {
		next = min(next, t.at)
	}
	if end, ok := q.groups.sessions.FirstEnd(); ok {
		next = min(next, end.At)
	}
	if t, ok := q.ready.firstDelivery.Min(); ok && q.firstDeliveryDelay() > 0 {
		// The end of a FIFO queue's delay wakes receivers. Ends that the
		// queue has seen need no clock: those messages are receivable.
		if at := t.at.Add(q.firstDeliveryDelay()); at > q.timers.fired.at {
			next = min(next, at)
		}
	}
	if at := q.sessionDelayEnd(q.timers.fired.at); at != 0 {
		next = min(next, at)
	}
	if at, ok := q.oldest(); ok {
		next = min(next, roundUp(at.Add(logtime.Seconds(q.attributes.RetentionSeconds)), retentionStep))
	}
	if at := q.deduplication.Deadline(); at != 0 {
		next = min(next, roundUp(at, forgetStep))
	}
	if at := q.attemptDeadline(); at != 0 {
		next = min(next, roundUp(at, forgetStep))
	}
	if next == math.MaxInt64 {
		return 0
	}
	return next
}

// expire does at most budget units of the queue's due work and returns what is
// left of the budget.
func (b *Broker) expire(q *Queue, budget int) int {
	budget = b.fireTimers(q, budget)
	budget = b.expireSessions(q, budget)
	budget = b.activateScheduled(q, budget)
	budget = b.expireMessages(q, budget)
	budget = q.deduplication.Forget(b.key, b.now, budget)
	return q.forgetAttempts(b.key, b.now, budget)
}

// timerIndex holds messages hidden by a visibility timeout or, on standard
// queues, by their delay.
type timerIndex struct {
	pending *btree.BTreeG[timed]
	// fired says how far timers have fired. It is state, not derived: a
	// timer is pending exactly if its key lies behind it, so that a replica
	// restored from a snapshot agrees about timers that are due but had to
	// wait for their turn.
	fired    timed
	inFlight int64
	delayed  int64
}

func (t *timerIndex) key(m *Message) timed { return timed{m.delivery.visibleAt, m.sequence} }

// add reports whether the timer of m is still to fire.
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

// fireTimers makes messages visible whose delay or visibility timeout is over.
func (b *Broker) fireTimers(q *Queue, budget int) int {
	from := q.timers.fired.at
	budget = b.fireDue(q, budget)
	if end := q.sessionDelayEnd(from); end != 0 && end <= q.timers.fired.at {
		q.groups.sessions.Wake()
	}
	return budget
}

// sessionDelayEnd is the first end of the queue's delay behind a time that may give the
// holder of a session something to receive, zero if there is none. A locked group is in
// no index of what can be received, so any message of the queue counts.
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

// expireMessages deletes messages older than the retention period, in whatever
// state they are, but for deferred ones. Sequence numbers rise with sentAt except for messages that
// kept their age in a move, which byAge orders.
func (b *Broker) expireMessages(q *Queue, budget int) int {
	expired := 0
	for ; budget > 0; budget-- {
		m, ok := q.oldestMessage()
		if !ok || !q.expired(m, b.now) {
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

// oldestMessage is the message with the earliest sentAt. If the one with the
// lowest number kept its age it is in byAge as well; if it did not, every
// later one that did not was sent later. Deferred messages do not age.
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

// AdvanceClock lets log time pass without any other change: timers that are
// due fire, at most a bounded number per command.
type AdvanceClock struct{}

// QueueName implements Command.
func (*AdvanceClock) QueueName() string { return "" }

// Validate has nothing to check.
func (*AdvanceClock) Validate() *Error { return nil }

func (c *AdvanceClock) apply(b *Broker) (Result, *Error) {
	b.index() // commands before it in its entry: what is due goes by deadlines
	budget := b.tombstones.expire(b, expiryBudget)
	for budget > 0 {
		next, ok := b.deadlines.Min()
		if !ok || next.at > b.now {
			break
		}
		q := b.begin(next.name)
		// One unit pays for looking at the queue, so that the number of
		// queues per entry is bounded, too.
		budget = b.expire(q, budget-1)
		b.register(q)
	}
	budget = b.topics.Expire(b.key, b.now, budget)
	b.removeUnconfirmed(budget)
	b.releases.step(releaseClockBudget)
	return Done{}, nil
}
