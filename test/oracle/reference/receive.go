package reference

import "strconv"

// ReceiveRequest is a ReceiveMessage without waiting; nil means not given.
type ReceiveRequest struct {
	Max        *int64
	Visibility *int64
	Attempt    *string
	Session    *SessionRef // receives in this session
	Delete     bool        // deletes the messages that it delivers
}

// Received is the answer to a ReceiveRequest.
type Received struct {
	Messages []Delivered
	Replayed bool
}

// Delivered is one delivery of a message.
type Delivered struct {
	Message  int
	Delivery int // the receipt handle; 0: none
	Number   int // 0 on standard queues
	Sent     SendEntry
	Sender   string
	DedupID  string
	DedupOf  int
	Source   string
	SentAt   int64
	FirstAt  int64
	Receives int
}

func or(v *int64, other int64) int64 {
	if v == nil {
		return other
	}
	return *v
}

func outOfRange(parameter string, v int64, low, high int64, reason string) *Error {
	if v >= low && v <= high {
		return nil
	}
	return &Error{
		"InvalidParameterValue",
		"Value " + strconv.FormatInt(v, 10) + " for parameter " + parameter + " is invalid. Reason: " + reason,
	}
}

// Receive delivers the messages that are available now (sqs.md 2.9, 4.2 to 4.4, 4.7).
func (b *Broker) Receive(name string, r ReceiveRequest) (Received, *Error) {
	q, err := b.find(name)
	if err != nil {
		return Received{}, err
	}
	if err := outOfRange("MaxNumberOfMessages", or(r.Max, 1), 1, 10, "Must be between 1 and 10, if provided."); err != nil {
		return Received{}, err
	}
	if err := outOfRange("VisibilityTimeout", or(r.Visibility, 0), 0, 43_200, "Must be >= 0 and <= 43200, if provided."); err != nil {
		return Received{}, err
	}
	if r.Session != nil || r.Delete {
		return b.receiveBus(q, r)
	}
	// In a standard queue the attempt id is ignored.
	if !q.FIFO {
		r.Attempt = nil
	}
	if r.Attempt != nil && !goodID(*r.Attempt) {
		return Received{}, badID("ReceiveRequestAttemptId", *r.Attempt)
	}
	if err := q.refusesReceives(); err != nil {
		return Received{}, err
	}
	if r.Attempt != nil {
		if a := q.attempt(*r.Attempt); a != nil {
			return b.replay(q, a, r)
		}
	}
	return b.handOut(q, r), nil
}

// handOut is a receive without an attempt: as many messages from each line, in serving order, as
// there is room for (sqs.md 4.3).
func (b *Broker) handOut(q *Queue, r ReceiveRequest) Received {
	timeout := or(r.Visibility, q.Settings.Visibility)
	picked := b.pick(q, r)
	var a *attempt
	if r.Attempt != nil && timeout > 0 && len(picked) > 0 {
		a = &attempt{id: *r.Attempt, at: b.now}
		q.attempts = append(q.attempts, a)
	}
	var answer Received
	for _, m := range picked {
		b.deliver(q, m, timeout)
		m.attempt = a
		if a != nil {
			a.parts = append(a.parts, attemptPart{m, m.Delivery})
		}
		answer.Messages = append(answer.Messages, b.delivered(q, m))
	}
	return answer
}

// pick chooses the messages for a receive, and dead-letters those that are due on the way. A paused
// queue has none.
func (b *Broker) pick(q *Queue, r ReceiveRequest) (picked []*Message) {
	if q.Settings.Paused {
		return nil
	}
	room := or(r.Max, 1)
	for _, line := range b.servingOrder(q) {
		fromLine := int64(0)
		for _, m := range line {
			if int64(len(picked)) == room || fromLine == q.Settings.PerGroup {
				break
			}
			if target := b.deadLetterTarget(q, m); target != nil {
				b.deadLetterByCount(q, target, m)
				continue
			}
			picked = append(picked, m)
			fromLine++
		}
	}
	return picked
}

// deliver delivers a message with a new handle and a higher receive count.
func (b *Broker) deliver(q *Queue, m *Message, timeout int64) {
	b.newHandle(q, m)
	if m.Receives == 0 {
		m.FirstAt = b.now
	}
	m.Receives++
	m.HandedOut++
	m.ReceivedAt = b.now
	m.HiddenTill = b.now + timeout*1000
	m.Lock = 0
}

// newHandle names a delivery.
func (b *Broker) newHandle(q *Queue, m *Message) {
	b.lastDelivery++
	m.Delivery = b.lastDelivery
	b.issued[m.Delivery] = issued{q, m}
}

func (b *Broker) delivered(q *Queue, m *Message) Delivered {
	d := Delivered{
		Message: m.ID, Delivery: m.Delivery, Sent: m.Sent, Sender: m.Sender,
		DedupID: m.DedupID, DedupOf: m.DedupOf, Source: m.Source,
		SentAt: m.SentAt, FirstAt: m.FirstAt, Receives: m.Receives,
	}
	if q.FIFO {
		d.Number = m.Number
	}
	return d
}
