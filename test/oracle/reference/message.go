package reference

import "slices"

// Message is one stored message.
type Message struct {
	ID         int // identity of the message id a client sees
	Number     int // sequence number
	Sent       SendEntry
	Sender     string
	Group      string
	Grouped    bool
	DedupID    string
	DedupOf    int // if not 0, the deduplication id is the text of this message id
	Source     string
	SentAt     int64
	StartDelay int64 // milliseconds; standard queues fix it at the send
	Scheduled  bool  // waits outside its group until DueAt
	Deferred   bool  // outside its group, delivered by its number only
	DueAt      int64
	Prompt     bool   // was scheduled: the delay of the queue does not apply
	Partition  string // PartitionKey it was sent with
	attempt    *attempt
	Receipt
	Counts
}

// Receipt is the last delivery of a message from the queue it is in.
type Receipt struct {
	Delivery   int // 0: none yet
	HiddenTill int64
	Lock       int // session lock it was under, 0: none
}

// Counts has the receive counts of a message.
type Counts struct {
	Receives   int // as clients see it: over all queues it was in
	HandedOut  int // receives from the queue it is in
	FirstAt    int64
	ReceivedAt int64
}

// availableSince is the moment at which the message could first be received
// as it stands now (sqs.md 4.1 and 4.4).
func (b *Broker) availableSince(q *Queue, m *Message) int64 {
	since := m.HiddenTill
	if m.Delivery == 0 {
		since = m.SentAt + m.StartDelay
		if m.Prompt {
			since = m.DueAt
		}
		// A changed DelaySeconds is retroactive on FIFO queues, and only
		// there (sqs.md 3.1).
		if q.FIFO && !m.Prompt {
			since = m.SentAt + q.Settings.Delay*1000
		}
	}
	if b.bugs[VisibleOneLate] && m.Delivery != 0 {
		since++
	}
	return since
}

func (b *Broker) available(q *Queue, m *Message) bool {
	return !m.Scheduled && !m.Deferred && !b.inFlight(q, m) && b.availableSince(q, m) <= b.now
}

// inFlight: received, not yet visible again, not deleted. What was received in a
// session is so as long as that lock lasts (servicebus.md 3).
func (b *Broker) inFlight(q *Queue, m *Message) bool {
	if m.Lock != 0 {
		return q.lockOf(m.Group, b.now) == m.Lock
	}
	return m.Delivery != 0 && b.now < m.HiddenTill
}

// delayed: in its initial delay, or waiting for its scheduled time.
func (b *Broker) delayed(q *Queue, m *Message) bool {
	return m.Scheduled || m.Delivery == 0 && b.now < b.availableSince(q, m)
}

func (q *Queue) remove(m *Message) {
	q.messages = slices.DeleteFunc(q.messages, func(x *Message) bool { return x == m })
}

// forget drops what messages that are gone would hold in memory for ever: their
// handles are remembered.
func forget(gone []*Message) {
	for _, m := range gone {
		m.Sent = SendEntry{}
	}
}

// insert appends m under the next sequence number of the queue.
func (b *Broker) insert(q *Queue, m *Message) {
	b.lastNumber[q.Name]++
	m.Number = b.lastNumber[q.Name]
	q.messages = append(q.messages, m)
	q.quietUntil = 0
}

func (b *Broker) newMessageID() int {
	b.lastMessage++
	return b.lastMessage
}

// dropExpired is retention: a message older than MessageRetentionPeriod goes,
// in whatever state but deferred (sqs.md 3.2). A scheduled one counts from its activation
// (servicebus.md 5.6).
func (b *Broker) dropExpired(q *Queue) {
	q.messages = slices.DeleteFunc(q.messages, func(m *Message) bool {
		over := q.over(m, b.now)
		if over {
			forget([]*Message{m})
		}
		return over
	})
}

// over: its retention is over. That of a scheduled message has not begun, and a deferred
// one is kept until a client asks for it (servicebus.md 4).
func (q *Queue) over(m *Message, now int64) bool {
	return !m.Scheduled && !m.Deferred && m.SentAt+q.Settings.Retention*1000 <= now
}
