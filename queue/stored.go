package queue

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/session"
)

// The commands of this file are for operators. They name messages by their sequence numbers, also on
// standard queues, and need no receive.

// DeleteStored deletes stored messages in any state. Their deduplication ids stay known.
type DeleteStored struct {
	Queue     string
	Sequences []SequenceNumber // 1..StoredEntriesMax
	Force     bool             // includes messages in flight
}

// QueueName implements Command.
func (c *DeleteStored) QueueName() string { return c.Queue }

// Validate checks the sequence numbers.
func (c *DeleteStored) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	return checkStored(c.Sequences)
}

// checkStored checks the number of sequence numbers, and that none is repeated.
func checkStored(sequences []SequenceNumber) *Error {
	if n := len(sequences); n == 0 || n > limits.StoredEntriesMax {
		return refusal.InvalidParameter("Name 1 to ", strconv.Itoa(limits.StoredEntriesMax), " messages. You have named ", strconv.Itoa(n),
			".")
	}
	for i, sequence := range sequences {
		if slices.Contains(sequences[:i], sequence) {
			return refusal.InvalidValue(sequence.String(), "SequenceNumber", "It is repeated.")
		}
	}
	return nil
}

func (c *DeleteStored) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	out := EntriesDone{Errs: make([]*Error, len(c.Sequences))}
	for i, sequence := range c.Sequences {
		m, err := b.storedMessage(q, sequence, c.Force)
		if err != nil {
			out.Errs[i] = err
			continue
		}
		b.takeOut(q, m)
	}
	return out, nil
}

// storedMessage finds a message in any state. It refuses one in flight unless force is set.
func (b *Broker) storedMessage(q *Queue, sequence SequenceNumber, force bool) (*Message, *Error) {
	m, ok := q.find(uint64(sequence))
	if !ok || q.expired(m, b.now) {
		m, ok = q.scheduledMessage(uint64(sequence), b.now), true
	}
	switch {
	case m == nil || !ok:
		return nil, refusal.New(refusal.MessageNotFound, "There is no message with the sequence number ", sequence.String(), ".")
	case !force && m.delivered() && q.inFlightNow(m, b.now):
		return nil, refusal.New(refusal.MessageInFlight, "The message with the sequence number ", sequence.String(),
			" is in flight. Wait until it is visible again, release its group, or use force.")
	}
	return m, nil
}

// takeOut removes a message in any state. Later calls with its receipt handles are refused, or
// change nothing.
func (b *Broker) takeOut(q *Queue, m *Message) {
	if stored, scheduled := q.scheduled.Get(m.sequence); scheduled {
		q.removeScheduled(b.key, stored)
		return
	}
	q.endAttempt(b.key, m, true)

	q.remove(b.key, m)
}

// MoveStored moves stored messages to another queue of the same account and type, in the order of
// their sequence numbers. A message keeps its MessageId, body, attributes, group and deduplication
// id. Sent time and receive count begin anew. A scheduled message stays scheduled, a deferred one
// becomes visible.
//
// The deduplication of the destination is not involved, as with dead letters: an acknowledged message
// is never dropped as a duplicate.
type MoveStored struct {
	Queue       string
	Destination string           // empty: the queue from which each message was dead-lettered
	Sequences   []SequenceNumber // 1..StoredEntriesMax
	Force       bool             // includes messages in flight
}

// StoredMoved answers MoveStored, with one entry for each message of the command.
type StoredMoved struct{ Entries []MovedEntry }

// MovedEntry is the result of one message.
type MovedEntry struct {
	Err         *Error // if set, the message has not moved and the other fields are empty
	Destination string
	Sequence    SequenceNumber // in the destination
}

func (StoredMoved) result() {}

// QueueName implements Command.
func (c *MoveStored) QueueName() string { return c.Queue }

// Validate checks the sequence numbers and the name of the destination.
func (c *MoveStored) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if tooLongName(c.Destination) {
		return refusal.NoSuchResource("destination")
	}
	return checkStored(c.Sequences)
}

func (c *MoveStored) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if c.Destination != "" {
		if err := b.checkDestination(q, c.Destination, "destination"); err != nil {
			return nil, err
		}
	}
	order := make([]int, len(c.Sequences))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(c.Sequences[x], c.Sequences[y]) })
	out := StoredMoved{Entries: make([]MovedEntry, len(c.Sequences))}
	for _, i := range order {
		out.Entries[i] = b.moveStored(q, c, c.Sequences[i])
	}
	return out, nil
}

func (b *Broker) moveStored(q *Queue, c *MoveStored, sequence SequenceNumber) MovedEntry {
	m, err := b.storedMessage(q, sequence, c.Force)
	if err != nil {
		return MovedEntry{Err: err}
	}
	destination := c.Destination
	if destination == "" {
		if m.extra == nil || m.extra.deadLetterSource == "" {
			return MovedEntry{Err: refusal.New(refusal.ResourceNotFound, "The message with the sequence number ", sequence.String(),
				" was not dead-lettered, so it has no source. Name a destination.")}
		}
		destination = m.extra.deadLetterSource
		if err := b.checkDestination(q, destination, "destination"); err != nil {
			return MovedEntry{Err: err}
		}
	}
	to := b.beginNow(destination)
	scheduled := q.isScheduled(m.sequence, b.now)
	m = m.detached()
	e := SendEntry{GroupID: m.group, DelaySeconds: Some(0)}
	s := sending{
		entry: &e, moved: true, body: m.body, id: m.id(b.key, q.incarnation), published: m.published(),
		ids: deduplication.IDs{Own: m.deduplicationID, Group: m.group},
	}
	if m.extra != nil {
		s.placing.attributes, s.placing.partition = m.extra.attributes, m.extra.partition
		e.TraceHeader, s.encoded = m.extra.traceHeader, m.extra.encoded
	}
	if scheduled {
		s.placing.scheduledAt = m.delivery.visibleAt
	}
	b.takeOut(q, m)
	to.usedAt = b.now
	b.accept(to, &s, m.sender)
	return MovedEntry{Destination: destination, Sequence: SequenceNumber(to.lastSequence)}
}

// checkDestination refuses a destination of messages of source. Queues of other accounts stay hidden.
// parameter is its name in the error.
func (b *Broker) checkDestination(source *Queue, destination, parameter string) *Error {
	to, ok := b.queues.Get(destination)
	switch {
	case !ok || access.OwnerOf(destination) != access.OwnerOf(source.name):
		return refusal.NoSuchResource(parameter)
	case to.attributes.FIFO != source.attributes.FIFO:
		return refusal.InvalidParameter("The destination queue must be of the same type as the source queue.")
	case destination == source.name:
		return refusal.InvalidParameter("The destination queue must not be the source queue.")
	}
	return nil
}

// StoredMessage describes a stored message for an explanation.
type StoredMessage struct {
	PeekedMessage
	Before     int64     // earlier messages of its group, for which it waits
	ReceivedAt Timestamp // its last receive from this queue, zero: none
	HandOuts   int64     // receives from this queue that count for redrive
	DeadLetter bool      // a receive that takes it moves it to the dead-letter queue
	ExpiresAt  Timestamp // end of its retention or time to live, zero: it does not expire
	ExpiresTo  string    // the dead-letter queue to which it then moves, empty: it is deleted
	InSession  bool      // in flight under the lock of its group
	Deferred   bool      // outside of its group, also while it is in flight
	Returnable bool      // MoveStored can move it back to its dead-letter source
	// PartitionKey is that of its send.
	PartitionKey string
}

// Stored finds a message in any state by its sequence number.
func (v View) Stored(queue string, sequence SequenceNumber) (StoredMessage, *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return StoredMessage{}, refusal.NoSuchQueue()
	}
	m, err := v.b.storedMessage(q, sequence, true)
	if err != nil {
		return StoredMessage{}, err
	}
	out := StoredMessage{HandOuts: m.handOuts(), DeadLetter: v.b.redriveRule(q).due(m), InSession: q.held(m), Deferred: m.deferred()}
	if e := m.extra; e != nil {
		out.PartitionKey = e.partition
		out.Returnable = e.deadLetterSource != "" && v.b.checkDestination(q, e.deadLetterSource, "destination") == nil
	}
	if m.delivered() {
		out.ReceivedAt = m.delivery.receivedAt
	}
	scheduled := q.isScheduled(m.sequence, v.b.now)
	switch {
	case scheduled:
		out.PeekedMessage, out.ExpiresAt = v.peekUnordered(q, m), q.expiry(m, m.delivery.visibleAt, v.b.now)
		out.ExpiresTo = v.b.expiresTo(q, m, m.delivery.visibleAt)
	case m.deferred():
		out.PeekedMessage = v.peekUnordered(q, m)
	default:
		out.PeekedMessage, out.ExpiresAt = v.peek(q, m), q.expiry(m, m.sentAt, v.b.now)
		out.ExpiresTo = v.b.expiresTo(q, m, m.sentAt)
		if q.ordered(m) {
			out.Before = q.groups.before(m.group, m.sequence)
		}
	}
	return out, nil
}

// RedriveRule returns the dead-letter queue to which receives move messages, empty if none, and the
// number of receives before that.
func (v View) RedriveRule(queue string) (target string, after int64) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return "", 0
	}
	rule := v.b.redriveRule(q)
	if rule.target == nil {
		return "", 0
	}
	return rule.target.name, rule.after
}

// nextAvailableMax bounds the records that NextAvailable examines.
const nextAvailableMax = 10_000

// NextAvailable returns the earliest time at which a message becomes available without a command, in
// a queue without available messages. Zero: never. exact is false if the queue has so many records
// that another time is possible.
func (v View) NextAvailable(queue string) (at Timestamp, exact bool) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return 0, true
	}
	s := availability{q: q, now: v.b.now, budget: nextAvailableMax}
	s.heads()
	// A message that expires may free the one behind it.
	if end := q.firstExpiry(); end != 0 && (s.at == 0 || s.at > end) {
		q.groups.names.Scan(func(name string) bool {
			s.group(name)
			return s.spend()
		})
	}
	s.scheduled()
	return s.at, s.budget > 0
}

// availability is a search for the first time at which a message of a queue is available.
type availability struct {
	q      *Queue
	now    Timestamp
	at     Timestamp // the earliest one found, zero: none
	budget int
}

// lasts reports whether a message is not expired at t if its age counts from a time.
func (s *availability) lasts(m *Message, from, t Timestamp) bool {
	end := s.q.expiry(m, from, s.now)
	return end == 0 || t < end
}

func (s *availability) spend() bool {
	s.budget--
	return s.budget > 0
}

// past reports whether a time is too late to be the earliest one.
func (s *availability) past(t Timestamp) bool { return s.at != 0 && t >= s.at }

// consider notes that a message, whose age counts from a time, is available at t unless it expires
// before.
func (s *availability) consider(m *Message, from, t Timestamp) {
	if !s.past(t) && s.lasts(m, from, t) {
		s.at = t
	}
}

// lockEnd returns the end of the session lock on a group, zero without one.
func (s *availability) lockEnd(group string) Timestamp {
	if r, ok := s.q.groups.sessions.Get(group); ok && r.Locked(s.now) {
		return r.LockedUntil
	}
	return 0
}

// heads considers the messages that no other message precedes.
func (s *availability) heads() {
	q := s.q
	q.ready.firstDelivery.Scan(func(t timed) bool {
		m, _ := q.messages.Get(t.sequence)
		at := t.at.Add(q.firstDeliveryDelay())
		s.consider(m, t.at, at)
		return s.spend() && !s.past(at)
	})
	q.timers.pending.Scan(func(t timed) bool {
		m, _ := q.messages.Get(t.sequence)
		if !q.ordered(m) || q.groups.head(m.group) == m.sequence && s.lockEnd(m.group) == 0 {
			s.consider(m, m.sentAt, t.at)
		}
		return s.spend() && !s.past(t.at)
	})
	q.groups.sessions.ScanEnds(func(end session.Position) bool {
		s.group(end.Name)
		return s.spend() && !s.past(end.At)
	})
}

// group considers the first message of a group that does not expire before it is available. If there
// is none, the group is empty at the time emptied.
func (s *availability) group(name string) (emptied Timestamp, found bool) {
	from := s.lockEnd(name)
	s.q.groups.walk(name, func(sequence uint64) bool {
		m, _ := s.q.messages.Get(sequence)
		free := from
		if !s.q.held(m) {
			free = max(from, s.q.availableAt(m))
		}
		if found = s.lasts(m, m.sentAt, free); found {
			s.consider(m, m.sentAt, free)
			return false
		}
		from = max(from, s.q.expiry(m, m.sentAt, s.now))
		return s.spend()
	})
	return from, found
}

// scheduled considers the messages that are enqueued at a later time.
func (s *availability) scheduled() {
	s.q.scheduledByTime.Scan(func(t timed) bool {
		m, _ := s.q.scheduled.Get(t.sequence)
		if !s.q.ordered(m) {
			s.consider(m, t.at, t.at)
		} else if emptied, found := s.group(m.group); !found {
			s.consider(m, t.at, max(t.at, emptied))
		}
		return s.spend() && !s.past(t.at)
	})
}
