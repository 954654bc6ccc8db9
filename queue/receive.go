package queue

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// ReceiveMessages is the command for ReceiveMessage. It does not wait.
type ReceiveMessages struct {
	Queue             string
	MaxMessages       Int // 1..10, default 1
	VisibilityTimeout Int // seconds 0..43200, default from the queue
	AttemptID         string
	AttemptIDGiven    bool
	// ShortPoll is set if the caller does not wait. Only then the in-flight limit of a standard
	// queue is an error (OverLimit).
	ShortPoll bool
	// Options extend the SQS API; nil for SQS clients.
	Options *ReceiveOptions
	// Streamed permits up to StreamEntriesMax messages, for a stream of the native API, until their
	// bodies reach BatchBytesMax.
	Streamed bool
}

// QueueName implements Command.
func (c *ReceiveMessages) QueueName() string { return c.Queue }

// Validate checks ranges and, for a FIFO queue, the attempt id.
func (c *ReceiveMessages) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	messagesMax := int64(limits.ReceiveMessagesMax)
	if c.Streamed {
		messagesMax = limits.StreamEntriesMax
	}
	if m := c.MaxMessages; m.Given && (m.Value < 1 || m.Value > messagesMax) {
		return refusal.InvalidValue(strconv.FormatInt(m.Value, 10), "MaxNumberOfMessages",
			"Must be between 1 and "+strconv.FormatInt(messagesMax, 10)+", if provided.")
	}
	if err := checkVisibilityRange(c.VisibilityTimeout); err != nil {
		return err
	}
	if c.AttemptIDGiven && isFIFOName(c.Queue) && !message.ValidID(c.AttemptID) {
		return message.InvalidID(c.AttemptID, "ReceiveRequestAttemptId")
	}
	return c.Options.check(c)
}

// prepare removes the attempt id, which AWS ignores on standard queues.
func (c *ReceiveMessages) prepare() (Prepared, *Error) {
	if err := c.Validate(); err != nil {
		return Prepared{}, err
	}
	if c.AttemptIDGiven && !isFIFOName(c.Queue) {
		plain := *c
		plain.AttemptID, plain.AttemptIDGiven = "", false
		c = &plain
	}
	return Prepared{Command: c}, nil
}

func (c *ReceiveMessages) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if err := q.refusesReceives(); err != nil {
		return nil, err
	}
	if c.Options != nil {
		return c.Options.receive(b, q, c)
	}
	timeout := logtime.Seconds(c.VisibilityTimeout.Or(q.attributes.VisibilitySeconds))
	visibleAt := b.now.Add(timeout)
	// AWS ignores the attempt id on standard queues.
	attempted := c.AttemptIDGiven && q.attributes.FIFO
	if attempted {
		if a, live := q.liveAttempt(c.AttemptID, b.now); live {
			return b.replay(q, a, c, visibleAt)
		}
	}
	if q.attributes.DeliveryPaused {
		return MessagesReceived{}, nil
	}
	limit := c.MaxMessages.Or(1)
	if room := limits.InFlightMax - q.inFlight(); timeout > 0 && room < limit {
		if limit = room; limit <= 0 {
			// Documented: an error on standard queues if the caller does not wait; on FIFO queues
			// an empty answer.
			if c.ShortPoll && !q.attributes.FIFO {
				return nil, refusal.New(refusal.OverLimit, "The maximum number of in flight messages is reached: 120000.")
			}
			return MessagesReceived{}, nil
		}
	}
	s := selection{q: q, now: b.now, limit: int(limit), redrive: b.redriveRule(q), deliver: b.scratch.selected}
	if c.Streamed {
		s.bytesMax = limits.BatchBytesMax
	}
	s.run()
	b.scratch.selected = s.deliver[:0]
	defer clear(s.deliver)
	b.deadLetter(q, s.deadLetters)
	d := delivery{receivedAt: b.now, visibleAt: visibleAt}
	if attempted && timeout > 0 && len(s.deliver) > 0 {
		q.attempts.last++
		d.attemptID, d.attemptNumber = c.AttemptID, q.attempts.last
	}
	return b.deliver(q, s.deliver, d), nil
}

// refusesRemoval returns the error of a queue whose status keeps all messages in it. Receivers can
// still give messages back and renew their locks.
func (q *Queue) refusesRemoval() *Error {
	if !q.attributes.Status.RefusesReceives() {
		return nil
	}
	return refusal.New(refusal.EntityDisabled, "Receiving from the queue is disabled: its EntityStatus is ",
		q.attributes.Status.String(), ".")
}

// refusesReceives returns the error of a queue that refuses receives.
func (q *Queue) refusesReceives() *Error {
	if err := q.refusesRemoval(); err != nil {
		return err
	}
	return q.refusesForwarded()
}

// MessagesReceived answers ReceiveMessages.
type MessagesReceived struct {
	Messages []ReceivedMessage
	// Replayed reports that an earlier receive with the same ReceiveRequestAttemptId returned the
	// messages.
	Replayed bool
}

// ReceivedMessage is one delivery.
type ReceivedMessage struct {
	MessageID        MessageID
	Handle           ReceiptHandle
	Body             Body
	Encoded          *Encoded // nil for text
	Attributes       []MessageAttribute
	SenderID         string
	GroupID          string
	DeduplicationID  string
	TraceHeader      string
	DeadLetterSource string         // name of the source queue
	Sequence         SequenceNumber // zero on standard queues
	SentAt           Timestamp
	FirstReceivedAt  Timestamp
	ReceiveCount     int64
}

func (MessagesReceived) result() {}

// deliverable reports whether a receive now would deliver or dead-letter a message.
func (q *Queue) deliverable(now Timestamp) bool {
	return q.attributes.Withheld() == attributes.NotWithheld && q.inFlight() < limits.InFlightMax && q.available(now)
}

// inFlight counts the messages in flight.
func (q *Queue) inFlight() int64 { return q.timers.inFlight + q.groups.sessions.InFlight() }

// available reports whether a message is ready, regardless of the in-flight limit and of a pause.
func (q *Queue) available(now Timestamp) bool {
	if t, ok := q.ready.redelivered.Min(); ok && t.at <= now {
		return true
	}
	t, ok := q.ready.firstDelivery.Min()
	return ok && t.at.Add(q.firstDeliveryDelay()) <= now
}

// deliver delivers messages with the receive state d.
func (b *Broker) deliver(q *Queue, messages []*Message, d delivery) MessagesReceived {
	if len(messages) == 0 {
		return MessagesReceived{}
	}
	out := MessagesReceived{Messages: make([]ReceivedMessage, len(messages))}
	for i, m := range messages {
		handed := m.handedOut(q.made.delivered.New(), d, b.now)
		q.replace(b.key, m, handed)
		out.Messages[i] = b.received(q, handed)
		messages[i] = handed
	}
	if d.attemptNumber != 0 {
		a := &ReceiveAttempt{id: d.attemptID, number: d.attemptNumber, receivedAt: b.now}
		for _, m := range messages {
			a.deliveries = append(a.deliveries, AttemptDelivery{SequenceNumber(m.sequence), m.delivery.count})
		}
		q.putAttempt(b.key, a)
	}
	return out
}

// handedOut returns m after one more delivery with the times of d, stored in room.
func (m *Message) handedOut(room *deliveredMessage, d delivery, now Timestamp) *Message {
	d.count, d.receiveCount, d.firstReceivedAt = 1, m.receiveCount()+1, now
	if m.delivery != nil {
		d.count, d.takenBack = m.delivery.count+1, m.delivery.takenBack
		if m.delivery.receiveCount > 0 {
			d.firstReceivedAt = m.delivery.firstReceivedAt
		}
	}
	room.Message, room.state = *m, d
	room.Message.delivery = &room.state
	return &room.Message
}

// received returns the client's view of a message.
func (b *Broker) received(q *Queue, m *Message) ReceivedMessage {
	r := ReceivedMessage{
		MessageID:       m.id(b.key, q.incarnation),
		Body:            m.body,
		SenderID:        *m.sender,
		GroupID:         m.group,
		DeduplicationID: m.deduplicationID,
		SentAt:          m.sentAt,
		ReceiveCount:    m.receiveCount(),
	}
	if q.attributes.FIFO {
		r.Sequence = SequenceNumber(m.sequence)
	}
	if e := m.extra; e != nil {
		r.Attributes, r.TraceHeader, r.DeadLetterSource, r.Encoded = e.attributes, e.traceHeader, e.deadLetterSource, e.encoded
		if e.published != nil {
			r.Encoded = e.published.encoded(e.encoded)
			r.Body, r.Attributes = e.published.text(), withAttributes(e.published.attributes(), e.attributes)
			r.TraceHeader = e.published.publication.Content().TraceHeader
		}
	}
	if d := m.delivery; d != nil {
		r.FirstReceivedAt = d.firstReceivedAt
		r.Handle = identifier.NewReceiptHandle(b.key, b.epoch, q.incarnation, m.sequence, d.count)
	}
	return r
}

// selection chooses the messages of one receive or one step of a move task. It changes nothing.
type selection struct {
	q           *Queue
	now         Timestamp
	limit       int
	redrive     redriveRule
	ignoreGroup bool // for move tasks: no limit per group
	deliver     []*Message
	deadLetters []*Message
	skipped     int
	bytes       int64    // of the bodies to deliver, counted if bytesMax is set
	bytesMax    int64    // 0: no limit
	passed      []uint64 // skipped messages of a session
}

// run takes groups and ungrouped messages in the order in which they became available, and of each
// group the available prefix.
func (s *selection) run() {
	var redelivered, first timed
	haveRedelivered, haveFirst := s.first(&redelivered, true), s.first(&first, false)
	for (haveRedelivered || haveFirst) && !s.done() {
		if haveRedelivered && (!haveFirst || redelivered.less(first)) {
			s.take(redelivered.sequence)
			haveRedelivered = !s.done() && s.after(&redelivered, true, redelivered)
		} else {
			s.take(first.sequence)
			haveFirst = !s.done() && s.after(&first, false, first)
		}
	}
}

// first finds the first available entry of an index.
func (s *selection) first(entry *timed, timer bool) (found bool) {
	t, some := s.q.ready.index(timer).Min()
	if !timer {
		t.at = t.at.Add(s.q.firstDeliveryDelay())
	}
	*entry = t
	return some && t.at <= s.now
}

// after finds the next available entry of an index after last.
func (s *selection) after(entry *timed, timer bool, last timed) (found bool) {
	delay := logtime.Duration(0)
	if !timer {
		delay = s.q.firstDeliveryDelay()
	}
	last.at = last.at.Add(-delay)
	last.sequence++
	s.q.ready.index(timer).Ascend(last, func(t timed) bool {
		t.at = t.at.Add(delay)
		*entry = t
		found = t.at <= s.now
		return false
	})
	return found
}

// done reports whether a receive has reached a limit of the request, or a limit of work.
func (s *selection) done() bool {
	return len(s.deliver) >= s.limit || s.bytesMax > 0 && s.bytes >= s.bytesMax || len(s.deadLetters) >= deadLetterBudget ||
		s.skipped >= expiryBudget
}

// take takes the message, or the available prefix of the group it heads. It never passes a message
// that is in flight or delayed (prefix rule, sqs.md 4.2).
func (s *selection) take(sequence uint64) {
	m, _ := s.q.messages.Get(sequence)
	if !s.q.ordered(m) {
		s.pick(m)
		return
	}
	ofGroup := len(s.deliver) + int(s.q.attributes.GroupMessagesMax)
	s.q.groups.walk(m.group, func(sequence uint64) bool {
		m, _ := s.q.messages.Get(sequence)
		if s.q.availableAt(m) > s.now && !s.q.expired(m, s.now) {
			return false
		}
		s.pick(m)
		return !s.done() && (s.ignoreGroup || len(s.deliver) < ofGroup)
	})
}

// pick skips an expired message, dead-letters one that reached its receive count, and delivers any
// other.
func (s *selection) pick(m *Message) {
	switch {
	case s.q.expired(m, s.now):
		s.skipped++
	case s.redrive.due(m):
		s.deadLetters = append(s.deadLetters, m)
	default:
		s.deliver = append(s.deliver, m)
		if s.bytesMax > 0 {
			s.bytes += m.carriedBytes()
		}
	}
}
