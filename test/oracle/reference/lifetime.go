package reference

import "slices"

// foreverMilliseconds is a hundred years of 365.25 days. A longer time to live is none.
const foreverMilliseconds = 36_525 * 24 * 3_600_000

// timeToLive returns the time to live of a new message: the time that it asks for, but at most that of
// the queue; 0: none.
func (q *Queue) timeToLive(asked int64) int64 {
	ttl := asked
	if limit := q.Settings.TimeToLive * 1000; limit > 0 && (asked == 0 || limit < asked) {
		ttl = limit
	}
	if ttl >= foreverMilliseconds {
		return 0
	}
	return ttl
}

// ends returns the time at which a message expires if its age counts from a time; 0: never. The
// retention of the queue counts only if the queue has no time to live. A message in flight outlives
// its own time to live, because its receiver can still complete it.
func (b *Broker) ends(q *Queue, m *Message, from int64) int64 {
	at := int64(0)
	if m.TimeToLive > 0 {
		at = from + m.TimeToLive
		if b.inFlight(q, m) {
			at = max(at, b.freeAt(q, m))
		}
	}
	if q.Settings.TimeToLive == 0 {
		if end := from + q.Settings.Retention*1000; at == 0 || end < at {
			at = end
		}
	}
	return at
}

// over reports whether a message has expired. The time of a scheduled message has not begun, and a
// deferred one is kept until it is requested (servicebus.md 4).
func (b *Broker) over(q *Queue, m *Message) bool {
	end := b.ends(q, m, m.SentAt)
	return !m.Scheduled && !m.Deferred && end != 0 && end <= b.now
}

// dropExpired deletes expired messages in any state but deferred (sqs.md 3.2), except for those that
// may move to a dead-letter queue.
func (b *Broker) dropExpired(q *Queue) {
	q.messages = slices.DeleteFunc(q.messages, func(m *Message) bool {
		over := b.over(q, m) && !b.mayMove(q, m)
		if over {
			if m.TimeToLive > 0 && b.retained(q, m) {
				b.touch(q, m)
				q.lingering.mortal += m.bytes()
			} else {
				q.lingering.aged += m.bytes()
			}
			forget([]*Message{m})
		}
		return over
	})
}

// mayMove reports whether a message that expires now moves to the dead-letter queue if there is one: at
// the end of its own time to live, not at that of the queue's retention.
func (b *Broker) mayMove(q *Queue, m *Message) bool {
	return q.Settings.DeadLetterExpired && m.TimeToLive > 0 && b.retained(q, m)
}

func (b *Broker) retained(q *Queue, m *Message) bool {
	return q.Settings.TimeToLive > 0 || b.now < m.SentAt+q.Settings.Retention*1000
}

// ExpiresTo returns the dead-letter queue to which a message moves when it expires, empty if it is deleted.
func (b *Broker) ExpiresTo(q *Queue, number int) string {
	m, target := q.numbered(number), b.queues[q.redrive().Target]
	if m == nil || m.TimeToLive == 0 || !q.Settings.DeadLetterExpired || target == nil || target == q || target.FIFO != q.FIFO {
		return ""
	}
	from := m.SentAt
	if m.Scheduled {
		from = m.DueAt
	}
	if q.Settings.TimeToLive == 0 && b.ends(q, m, from) >= from+q.Settings.Retention*1000 {
		return ""
	}
	return target.Name
}

// Fed reports whether another queue forwards to a queue.
func (b *Broker) Fed(q *Queue) bool {
	for _, other := range b.queues {
		if other.Settings.ForwardTo == q.Name || other.Settings.ForwardDead == q.Name {
			return true
		}
	}
	return false
}

// moveExpired moves the expired messages of a queue to the dead-letter queue, in the order of their
// ends, or deletes them if there is none. This happens with the next command of the queue, or when the
// clock is advanced.
func (b *Broker) moveExpired(q *Queue) {
	q.lingering.mortal, q.lingering.aged = 0, 0
	for {
		var first *Message
		for _, m := range q.messages {
			if b.over(q, m) && b.mayMove(q, m) && (first == nil || b.mortalKey(m) < b.mortalKey(first)) {
				first = m
			}
		}
		if first == nil {
			return
		}
		target := b.queues[q.redrive().Target]
		if target == nil || target == q || target.FIFO != q.FIFO {
			forget([]*Message{first})
			q.messages = slices.DeleteFunc(q.messages, func(m *Message) bool { return m == first })
			continue
		}
		first.Sent.Attributes = withAttribute(first.Sent.Attributes, "DeadLetterReason", "TTLExpiredException")
		first.Sent.Attributes = withAttribute(first.Sent.Attributes, "DeadLetterErrorDescription",
			"The message expired and was dead lettered.")
		b.touch(q, first)
		b.deadLetter(q, target, first)
	}
}

// mortalKey is the time at which nothing kept a message alive any longer.
func (b *Broker) mortalKey(m *Message) int64 {
	if m.Delivery == 0 {
		return m.SentAt + m.TimeToLive
	}
	return max(m.SentAt+m.TimeToLive, m.HiddenTill)
}

// Tick advances the clock in all queues.
func (b *Broker) Tick() {
	for _, q := range b.Queues() {
		b.begin(q)
	}
}

// Receives reports whether expired messages of other queues may arrive in a dead-letter queue until a
// time.
func (b *Broker) Receives(q *Queue, until int64) bool {
	target, ends := false, false
	for _, other := range b.queues {
		if other == q || !other.Settings.DeadLetterExpired {
			continue
		}
		target = target || other.redrive().Target == q.Name
		ends = ends || slices.ContainsFunc(other.messages, func(m *Message) bool {
			end := b.ends(other, m, max(m.SentAt, m.DueAt))
			return end != 0 && end <= until
		})
	}
	return target && ends
}
