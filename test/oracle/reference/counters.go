package reference

import "fmt"

// Counters are the Approximate* attributes, which are exact here. Deferred messages
// are in none of them.
type Counters struct{ Visible, NotVisible, Delayed, Deferred int64 }

// Counters counts one queue (sqs.md 3.1): a FIFO message behind a blocked one
// counts as visible.
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

// Deliverable reports whether a receive would hand out or dead-letter at least one message.
func (b *Broker) Deliverable(q *Queue) bool { return len(b.servingOrder(q)) > 0 }

// RememberedIDs counts the live deduplication records.
func (b *Broker) RememberedIDs(q *Queue) int64 { return b.liveCount(&q.history) }

// Size is the number of stored messages.
func (q *Queue) Size() int { return len(q.messages) }

// Deadlines lists every future moment at which time alone changes what a
// command on the queue would do: the moments at which off-by-one bugs live.
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
		add(m.SentAt + q.Settings.Retention*1000)
		if m.Delivery != 0 {
			add(m.ReceivedAt + maxVisibilityMilliseconds)
		}
	}
	for _, r := range q.accepted {
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
	if q.purged {
		add(q.purgedAt + coolOffMilliseconds)
	}
	return all
}

// TopicDeadlines lists the future moments at which a topic forgets an id, or an archived
// message.
func (b *Broker) TopicDeadlines(t *Topic) (all []int64) {
	for _, r := range t.accepted {
		if at := r.acceptedAt + t.rules.Window*1000; at > b.now {
			all = append(all, at)
		}
	}
	for _, a := range t.archive {
		if at := a.At + t.settings.archiveDays*dayMilliseconds; at > b.now {
			all = append(all, at)
		}
	}
	return all
}

// messageIDText stands for the text form of a message id where the rules use
// it as a deduplication id. No client can send it: it holds a blank.
func messageIDText(id int) string { return fmt.Sprintf("message id %d", id) }
