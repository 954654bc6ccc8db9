package queue

import (
	"slices"

	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// ReceiveAttempt records the answer to a ReceiveRequestAttemptId, so that a retry returns the same
// messages and handles. A stored ReceiveAttempt never changes.
type ReceiveAttempt struct {
	id         string
	number     uint64 // unique among the attempts of a queue, also for a reused id
	receivedAt Timestamp
	invalid    bool // the visibility timeout of a message changed
	deliveries []AttemptDelivery
}

type attemptIndex struct {
	byID  *btree.Map[string, *ReceiveAttempt]
	order *btree.Map[uint64, string] // by number, which rises with time
	last  uint64
}

func newAttemptIndex() attemptIndex {
	return attemptIndex{byID: new(btree.Map[string, *ReceiveAttempt]), order: new(btree.Map[uint64, string])}
}

func (a attemptIndex) clone() attemptIndex {
	a.byID, a.order = a.byID.Copy(), a.order.Copy()
	return a
}

func (a *ReceiveAttempt) sum(k statehash.Key, incarnation uint64) statehash.Sum {
	var buf [256]byte
	r := append(statehash.Record(buf[:0]), statehash.KindAttempt).Num(incarnation).Num(a.number)
	r = r.Text(a.id).Time(a.receivedAt).Flag(a.invalid)
	for _, d := range a.deliveries {
		r = r.Num(uint64(d.Sequence)).Num(uint64(d.Delivery))
	}
	return k.Sum(r)
}

func (q *Queue) putAttempt(k statehash.Key, a *ReceiveAttempt) {
	q.dropAttempt(k, a.id)
	q.attempts.byID.Set(a.id, a)
	q.attempts.order.Set(a.number, a.id)
	q.sums.attempts.Add(a.sum(k, q.incarnation))
}

func (q *Queue) dropAttempt(k statehash.Key, id string) {
	if old, was := q.attempts.byID.Delete(id); was {
		q.attempts.order.Delete(old.number)
		q.sums.attempts.Sub(old.sum(k, q.incarnation))
	}
}

func (q *Queue) clearAttempts() {
	last := q.attempts.last
	q.attempts = newAttemptIndex()
	q.attempts.last = last
	q.sums.attempts = statehash.Sum{}
}

// liveAttempt finds an attempt inside its window, which starts at the first successful receive.
// Retries do not extend the window.
func (q *Queue) liveAttempt(id string, now Timestamp) (*ReceiveAttempt, bool) {
	a, ok := q.attempts.byID.Get(id)
	return a, ok && now.Sub(a.receivedAt) < logtime.Seconds(q.attributes.AttemptSeconds)
}

// forgetAttempts drops at most budget expired attempts and returns the remaining budget.
func (q *Queue) forgetAttempts(k statehash.Key, now Timestamp, budget int) int {
	for ; budget > 0; budget-- {
		_, id, ok := q.attempts.order.Min()
		if !ok {
			break
		}
		if _, live := q.liveAttempt(id, now); live {
			break
		}
		q.dropAttempt(k, id)
	}
	return budget
}

func (q *Queue) attemptDeadline() Timestamp {
	_, id, ok := q.attempts.order.Min()
	if !ok {
		return 0
	}
	a, _ := q.attempts.byID.Get(id)
	return a.receivedAt.Add(logtime.Seconds(q.attributes.AttemptSeconds))
}

// endAttempt ends the attempt that delivered m, because m is deleted or its visibility changed. AWS
// answers a later retry with an error, so the record stays. It is marked as invalid if the visibility
// changed; replay detects a deleted message. YMQ forgets the attempt, so a retry is an ordinary
// receive.
func (q *Queue) endAttempt(k statehash.Key, m *Message, deleted bool) {
	d := m.delivery
	if d == nil || d.attemptNumber == 0 {
		return
	}
	a, ok := q.attempts.byID.Get(d.attemptID)
	if !ok || a.number != d.attemptNumber {
		return
	}
	if q.attributes.YMQReceive {
		q.dropAttempt(k, a.id)
		return
	}
	if deleted || a.invalid {
		return
	}
	c := *a
	c.invalid = true
	q.putAttempt(k, &c)
}

// replay delivers the messages of a live attempt again: same messages, order, handles and receive
// counts, with a new visibility timeout. AWS refuses if a message was deleted, timed out, or
// changed its visibility. YMQ returns the messages that no other attempt received since.
func (b *Broker) replay(q *Queue, a *ReceiveAttempt, c *ReceiveMessages, visibleAt Timestamp) (Result, *Error) {
	var again []*Message
	for _, d := range a.deliveries {
		m, ok := q.messages.Get(uint64(d.Sequence))
		held := ok && m.delivered() && m.delivery.count == d.Delivery && m.delivery.session == 0 && !q.expired(m, b.now) &&
			!q.groups.sessions.Locked(m.group)
		if !q.attributes.YMQReceive && (a.invalid || !held || m.delivery.visibleAt <= b.now) {
			return nil, a.spent()
		}
		if held && q.leads(m, again) {
			again = append(again, m)
		}
	}
	if limit := int(c.MaxMessages.Or(1)); q.attributes.YMQReceive && len(again) > limit {
		again = again[:limit]
	}
	out := MessagesReceived{Messages: make([]ReceivedMessage, 0, len(again)), Replayed: true}
	for _, m := range again {
		d := *m.delivery
		d.visibleAt = visibleAt
		renewed := m.withDelivery(&d)
		q.replace(b.key, m, renewed)
		out.Messages = append(out.Messages, b.received(q, renewed))
	}
	return out, nil
}

// spent refuses a retry of an attempt whose messages changed.
func (a *ReceiveAttempt) spent() *Error {
	return refusal.InvalidValue(a.id, "ReceiveRequestAttemptId",
		"The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.")
}

// replayInSession replays an attempt in a session, where the session lock hides the messages. An
// attempt under another lock or outside the session is refused.
func (b *Broker) replayInSession(q *Queue, a *ReceiveAttempt, r *session.Record, c *ReceiveMessages) (Result, *Error) {
	out := MessagesReceived{Messages: make([]ReceivedMessage, 0, len(a.deliveries)), Replayed: true}
	for _, d := range a.deliveries {
		m, ok := q.messages.Get(uint64(d.Sequence))
		held := ok && q.held(m) && m.group == r.Name && m.delivery.count == d.Delivery && !q.expired(m, b.now)
		if !q.attributes.YMQReceive && (a.invalid || !held) {
			return nil, a.spent()
		}
		if held && (!q.attributes.YMQReceive || int64(len(out.Messages)) < c.MaxMessages.Or(1)) {
			out.Messages = append(out.Messages, b.received(q, m))
		}
	}
	return out, nil
}

// leads reports whether before, the messages delivered earlier in the same answer, contains every
// earlier message of m's group. On a YMQ replay, another consumer may hold an earlier message,
// which m must not pass.
func (q *Queue) leads(m *Message, before []*Message) (leads bool) {
	if !q.ordered(m) {
		return true
	}
	q.groups.walk(m.group, func(sequence uint64) bool {
		leads = sequence == m.sequence
		return slices.ContainsFunc(before, func(b *Message) bool { return b.sequence == sequence })
	})
	return leads
}
