package reference

import "strconv"

// Counters contains the Approximate* attributes, which are exact here. They do not count deferred
// messages.
type Counters struct{ Visible, NotVisible, Delayed, Deferred int64 }

// Counters returns the counts of a queue (sqs.md 3.1). A FIFO message behind a blocked one counts
// as visible.
func (b *Broker) Counters(q *Queue) Counters {
	var c Counters
	for _, m := range q.messages {
		switch {
		case m.Deferred:
			c.Deferred++
		case b.inFlight(q, m):
			c.NotVisible++
		case b.delayed(q, m):
			c.Delayed++
		default:
			c.Visible++
		}
	}
	return c
}

// Deliverable reports whether a receive would deliver or dead-letter at least one message.
func (b *Broker) Deliverable(q *Queue) bool { return q.Withheld() == "" && len(b.servingOrder(q)) > 0 }

// RememberedIDs returns the number of live deduplication records.
func (b *Broker) RememberedIDs(q *Queue) int64 { return b.liveCount(&q.history) }

// Size returns the number of stored messages.
func (q *Queue) Size() int { return len(q.messages) }

// Deadlines returns every future time at which the effect of a command on the queue changes without
// another command. Off-by-one bugs appear at these times.
func (b *Broker) Deadlines(q *Queue) []int64 {
	var all []int64
	add := func(at int64) {
		if at > b.now {
			all = append(all, at)
		}
	}
	for _, m := range q.messages {
		if m.Scheduled {
			add(m.DueAt)
			continue
		}
		add(b.availableSince(q, m))
		add(b.ends(q, m, m.SentAt))
		if m.Delivery != 0 {
			add(m.ReceivedAt + maxVisibilityMilliseconds)
		}
	}
	for _, r := range q.history.accepted {
		add(r.acceptedAt + q.Settings.Window*1000)
	}
	for _, s := range q.sessions {
		if s.lock != 0 {
			add(s.until)
		}
	}
	for _, a := range q.attempts {
		add(a.at + q.Settings.AttemptWindow*1000)
	}
	add(q.idleAt())
	if q.purged {
		add(q.purgedAt + coolOffMilliseconds)
	}
	return all
}

// TopicDeadlines returns the future times at which a topic forgets an id or an archived message, or
// publishes a scheduled one.
func (b *Broker) TopicDeadlines(t *Topic) (all []int64) {
	for _, r := range t.history.accepted {
		if at := r.acceptedAt + t.history.rules.Window*1000; at > b.now {
			all = append(all, at)
		}
	}
	for _, a := range t.scheduled {
		all = append(all, a.At)
	}
	if at := t.idleAt(); at > b.now {
		all = append(all, at)
	}
	for _, a := range t.archive {
		if at := a.At + t.settings.archiveDays*dayMilliseconds; at > b.now {
			all = append(all, at)
		}
	}
	return all
}

// messageIDText represents the text of a message id that is used as a deduplication id. It contains
// U+0000, so that no client can send it.
func messageIDText(id int) string { return messageIDPrefix + strconv.Itoa(id) }

const messageIDPrefix = "\x00message id "
