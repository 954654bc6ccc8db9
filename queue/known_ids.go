package queue

import (
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// DeduplicationID is a deduplication id in an operator's request. An id computed from content is
// the SHA-256 in lower-case hexadecimal digits. Group and partition key matter if the queue
// remembers ids per group or partition.
type DeduplicationID struct {
	ID           string
	GroupID      string
	PartitionKey string
}

func (d *DeduplicationID) check() *Error {
	switch {
	case !message.ValidNativeID(d.ID):
		return message.InvalidNativeID(d.ID, "MessageDeduplicationId")
	case d.GroupID != "" && !message.ValidNativeGroup(d.GroupID):
		return message.InvalidNativeID(d.GroupID, "MessageGroupId")
	case d.PartitionKey != "" && !message.ValidNativeGroup(d.PartitionKey):
		return message.InvalidNativeID(d.PartitionKey, "PartitionKey")
	}
	return nil
}

func (d *DeduplicationID) ids() deduplication.IDs {
	return deduplication.IDs{Own: d.ID, Group: d.GroupID, Partition: d.PartitionKey}
}

// ForgetDeduplication lets an id be sent again before its window ends.
type ForgetDeduplication struct {
	Queue string
	DeduplicationID
}

// QueueName implements Command.
func (c *ForgetDeduplication) QueueName() string { return c.Queue }

// Validate checks the type of the queue and the id.
func (c *ForgetDeduplication) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if !isFIFOName(c.Queue) {
		return fifoOnly("Deduplication ids")
	}
	return c.check()
}

func (c *ForgetDeduplication) apply(b *Broker) (Result, *Error) {
	q := b.beginNow(c.Queue)
	if q == nil {
		return nil, refusal.NoSuchQueue()
	}
	if !q.deduplication.Free(b.key, c.ids(), b.now) {
		return nil, refusal.New(refusal.DeduplicationIDUnknown, "The queue does not remember the deduplication id ", c.ID, ".")
	}
	q.forgotAt = b.now
	return Done{}, nil
}

// KnownID is the record of a deduplication id: the first message accepted with it.
type KnownID struct {
	MessageID   MessageID
	Sequence    SequenceNumber // the message's number when accepted
	Scope       deduplication.Scope
	AcceptedAt  Timestamp
	ForgottenAt Timestamp // end of the window
	// From FreeAt on, a send with the id is accepted. After a change of the DeduplicationScope, an id may
	// be known in several scopes: FreeAt is then later than ForgottenAt.
	FreeAt Timestamp
	// State is the state of the message with that Sequence: "scheduled", "stored", or "gone"
	// (deleted, moved, or enqueued under a new number).
	State string
}

// KnownID looks up a deduplication id as a send would. found is false if a send would be accepted.
func (v View) KnownID(queue string, id DeduplicationID) (known KnownID, found bool, err *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return KnownID{}, false, refusal.NoSuchQueue()
	}
	if err := id.check(); err != nil {
		return KnownID{}, false, err
	}
	r, found := q.deduplication.Find(v.b.key, id.ids(), v.b.now)
	if !found {
		return KnownID{}, false, nil
	}
	known = KnownID{
		MessageID:   identifier.NewMessageID(v.b.key, q.incarnation, r.Sequence()),
		Sequence:    SequenceNumber(r.Sequence()),
		Scope:       r.Scope(),
		AcceptedAt:  Timestamp(r.AcceptedAt),
		ForgottenAt: Timestamp(r.AcceptedAt).Add(logtime.Seconds(q.attributes.Deduplication.WindowSeconds)),
		State:       "gone",
	}
	known.FreeAt = freeAt(v.b.key, &q.deduplication, id.ids(), known.ForgottenAt)
	if _, stored := q.find(r.Sequence()); stored {
		known.State = "stored"
	} else if q.isScheduled(r.Sequence(), v.b.now) {
		known.State = "scheduled"
	}
	return known, true, nil
}

// KnownTopicID is KnownID for a publish to a FIFO topic. State is "scheduled" or empty, because a topic
// keeps no other message.
func (v View) KnownTopicID(name string, id DeduplicationID) (known KnownID, found bool, err *Error) {
	t, ok := v.b.topics.Get(name)
	switch {
	case !ok:
		return KnownID{}, false, refusal.NoSuchTopic()
	case !t.Attributes.FIFO:
		return KnownID{}, false, fifoOnly("Deduplication ids")
	}
	if err := id.check(); err != nil {
		return KnownID{}, false, err
	}
	r, found := t.Deduplication.Find(v.b.key, id.ids(), v.b.now)
	if !found {
		return KnownID{}, false, nil
	}
	known = KnownID{
		MessageID:   identifier.NewPublicationID(v.b.key, t.Incarnation, r.Sequence()),
		Sequence:    SequenceNumber(r.Sequence()),
		Scope:       r.Scope(),
		AcceptedAt:  Timestamp(r.AcceptedAt),
		ForgottenAt: Timestamp(r.AcceptedAt).Add(logtime.Seconds(t.Attributes.Deduplication.WindowSeconds)),
	}
	known.FreeAt = freeAt(v.b.key, &t.Deduplication, id.ids(), known.ForgottenAt)
	if t.Scheduled(r.Sequence(), v.b.now) != nil {
		known.State = "scheduled"
	}
	return known, true, nil
}

// TopicFull reports whether MaxDeduplicationEntries of a topic refuses a message with an id that the
// topic does not know.
func (v View) TopicFull(name string) bool {
	t, ok := v.b.topics.Get(name)
	if !ok || !t.Deduplicates() || t.Attributes.Deduplication.EntriesMax == 0 {
		return false
	}
	adds := int64(1)
	if t.Attributes.Deduplication.IDAndContent { // the hash of the message is remembered, too
		adds = 2
	}
	return t.Deduplication.CountLive(v.b.now)+adds > t.Attributes.Deduplication.EntriesMax
}

// freeAt returns when no record of ids is left, if one is forgotten at a time.
func freeAt(k statehash.Key, d *deduplication.Deduplicator, ids deduplication.IDs, at Timestamp) Timestamp {
	for {
		r, found := d.Find(k, ids, at)
		if !found {
			return at
		}
		at = Timestamp(r.AcceptedAt).Add(logtime.Seconds(d.Rules().WindowSeconds))
	}
}

// DeduplicationStats describes the ids that a queue remembers.
type DeduplicationStats struct {
	Live          int64 // ids inside their window
	Kept          int64 // ids in memory, including expired ones
	ByScope       [deduplication.Scopes]int64
	OldestAt      Timestamp // acceptance of the oldest id in memory, zero without ids
	WindowSeconds int64
	EntriesMax    int64 // 0: no cap
	Bytes         int64 // estimated memory
}

// DeduplicationStats counts the ids that a queue remembers.
func (v View) DeduplicationStats(queue string) (DeduplicationStats, *Error) {
	q, ok := v.b.queues.Get(queue)
	if !ok {
		return DeduplicationStats{}, refusal.NoSuchQueue()
	}
	kept := int64(q.deduplication.Len())
	s := DeduplicationStats{
		Live: q.deduplication.CountLive(v.b.now), Kept: kept, ByScope: q.deduplication.ByScope(),
		WindowSeconds: q.attributes.Deduplication.WindowSeconds, EntriesMax: q.attributes.Deduplication.EntriesMax,
		Bytes: kept * deduplicationOverhead,
	}
	if oldest, ok := q.deduplication.Oldest(); ok {
		s.OldestAt = Timestamp(oldest.AcceptedAt)
	}
	return s, nil
}
