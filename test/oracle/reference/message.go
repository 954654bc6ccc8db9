package reference

import "slices"

// Message is one stored message.
type Message struct {
	ID         int // stands for the message id that clients see
	Number     int // sequence number
	Sent       SendEntry
	Sender     string
	Group      string
	Grouped    bool
	DedupID    string
	DedupOf    int // if not 0, the deduplication id is the text of the message id with this number
	Source     string
	SentAt     int64
	StartDelay int64 // milliseconds; standard queues fix it when the message is sent
	Scheduled  bool  // waits outside its group until DueAt
	Deferred   bool  // outside of its group, delivered only by number
	DueAt      int64
	Prompt     bool   // it was scheduled, so the delay of the queue does not apply
	Hops       int    // times that it was forwarded
	Partition  string // the PartitionKey with which it was sent
	TimeToLive int64  // milliseconds from SentAt; 0: none
	attempt    *attempt
	Receipt
	Counts
}

// Receipt describes the last delivery of a message by its present queue.
type Receipt struct {
	Delivery   int // 0: none yet
	HiddenTill int64
	Lock       int // the session lock under which it was delivered, 0: none
}

// Counts has the receive counts of a message.
type Counts struct {
	Receives   int // what clients see: receives from all queues that it was in
	HandedOut  int // receives from its present queue
	FirstAt    int64
	ReceivedAt int64
}

// availableSince returns when the message, in its present state, could first be received (sqs.md
// 4.1 and 4.4).
func (b *Broker) availableSince(q *Queue, m *Message) int64 {
	since := m.HiddenTill
	if m.Delivery == 0 {
		since = m.SentAt + m.StartDelay
		if m.Prompt {
			since = m.DueAt
		}
		// In FIFO queues, and only there, a changed DelaySeconds applies to existing messages
		// (sqs.md 3.1).
		if q.FIFO && !m.Prompt {
			since = m.SentAt + q.Settings.Delay*1000
		}
	}
	return since
}

func (b *Broker) available(q *Queue, m *Message) bool {
	return !m.Scheduled && !m.Deferred && !b.inFlight(q, m) && b.availableSince(q, m) <= b.now && !(b.over(q, m) && b.mayMove(q, m))
}

// inFlight reports whether the message was received and is neither visible again nor deleted. In a
// session this lasts as long as the lock (servicebus.md 3).
func (b *Broker) inFlight(q *Queue, m *Message) bool {
	if m.Lock != 0 {
		return q.lockOf(m.Group, b.now) == m.Lock
	}
	return m.Delivery != 0 && b.now < m.HiddenTill
}

// delayed reports whether the message is in its initial delay or waits for its scheduled time.
func (b *Broker) delayed(q *Queue, m *Message) bool {
	return m.Scheduled || m.Delivery == 0 && b.now < b.availableSince(q, m)
}

func (q *Queue) remove(m *Message) {
	q.messages = slices.DeleteFunc(q.messages, func(x *Message) bool { return x == m })
}

// forget drops the contents of deleted messages, which are still referenced because their handles
// are remembered.
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
