package snapshot

import (
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
)

// Kinds of records in a section of records; part of the disk format.
const (
	recordTombstone     = 1
	recordMoveTask      = 2
	recordQueue         = 3
	recordMessage       = 4
	recordDeduplication = 5
	recordAttempt       = 6
	recordSession       = 7
	// Kinds for topics. The first record that refers to a publication contains it: a message, an
	// archived publication, or a pending HTTP delivery. Later records name its id.
	recordTopic              = 8
	recordSubscription       = 9
	recordTopicDeduplication = 10
	recordArchived           = 11
	recordOutbox             = 12
	recordScheduled          = 13
	recordRule               = 14
	// Kinds for access, after all topics.
	recordAccessKey  = 15
	recordUserPolicy = 16
	recordAccount    = 17
	recordSealingKey = 18
)

// Write writes a captured state with all bodies, so that any node can read it. Equal states at
// equal positions give equal bytes.
func Write(w io.Writer, position Position, frozen *queue.Frozen) error {
	return write(w, position, frozen, frozen.Bodies())
}

// WriteReferences writes a captured state with the places of stored bodies instead of their texts.
// Only this node can use it.
func WriteReferences(w io.Writer, position Position, frozen *queue.Frozen) error {
	return write(w, position, frozen, references{})
}

// references leaves stored bodies where they are.
type references struct{}

// Read returns b.
func (references) Read(b queue.Body) (queue.Body, error) { return b, nil }

func write(w io.Writer, position Position, frozen *queue.Frozen, bodies message.Reader) error {
	sections, err := newSectionWriter(w)
	if err != nil {
		return err
	}
	s := &writer{sections: sections, bodies: bodies, written: map[queue.MessageID]bool{}}
	single(s, sectionHeader, wire.SnapshotHeaderCodec, &wire.SnapshotHeader{
		Index:     position.Index,
		Term:      position.Term,
		At:        int64(position.At),
		StateHash: position.StateHash[:],
		ChainHash: position.ChainHash[:],
	})
	broker := frozen.Broker()
	single(s, sectionBroker, wire.BrokerRecordCodec, &broker)
	frozen.Tombstones(func(r queue.TombstoneRecord) bool {
		return record(s, recordTombstone, &s.counts.Tombstones, wire.TombstoneRecordCodec, &r)
	})
	frozen.MoveTasks(func(r queue.MoveTaskRecord) bool {
		return record(s, recordMoveTask, &s.counts.MoveTasks, wire.MoveTaskRecordCodec, &r)
	})
	frozen.Queues(s.queue)
	frozen.Topics(s.topic)
	frozen.Access().Keys(func(k access.Key) bool {
		return record(s, recordAccessKey, &s.counts.AccessKeys, wire.AccessKeyRecordCodec, &k)
	})
	frozen.Access().Policies(func(p access.Policy) bool {
		return record(s, recordUserPolicy, &s.counts.UserPolicies, wire.UserPolicyRecordCodec, &p)
	})
	frozen.Access().Accounts(func(a access.Account) bool {
		return record(s, recordAccount, &s.counts.Accounts, wire.AccountRecordCodec, &a)
	})
	if key := frozen.Access().SealingKey(); key != nil {
		record(s, recordSealingKey, &s.counts.SealingKeys, wire.SealingKeyRecordCodec, key)
	}
	if s.err == nil && s.sections.filled() > 0 {
		s.err = s.sections.end(sectionRecords)
	}
	s.counts.Sections = uint64(s.sections.number)
	single(s, sectionEnd, wire.SnapshotEndCodec, &s.counts)
	return s.err
}

// writer walks a captured state. The first error ends all walks.
type writer struct {
	sections *sectionWriter
	bodies   message.Reader
	err      error
	scratch  []byte
	counts   wire.SnapshotEnd
	written  map[queue.MessageID]bool // ids of written publications
}

// single writes a section of one message.
func single[T any](s *writer, kind sectionKind, of wire.Codec[T], m *T) {
	if s.err == nil {
		s.sections.buffer = of.Append(s.sections.buffer, m)
		s.err = s.sections.end(kind)
	}
}

// record adds a record to the current section, and ends the section when it is long enough. It
// reports false after an error.
func record[T any](s *writer, kind byte, count *uint64, of wire.Codec[T], r *T) bool {
	s.scratch = of.Append(s.scratch[:0], r)
	return s.encoded(kind, count)
}

// encoded is record for the encoded record in scratch.
func (s *writer) encoded(kind byte, count *uint64) bool {
	if s.err != nil {
		return false
	}
	*count++
	s.err = s.sections.record(kind, s.scratch)
	return s.err == nil
}

func (s *writer) queue(q queue.FrozenQueue) bool {
	r := q.Record()
	if !record(s, recordQueue, &s.counts.Queues, wire.QueueRecordCodec, &r) {
		return false
	}
	q.Messages(s.message)
	q.Deduplication(func(r queue.DeduplicationRecord) bool { return s.deduplication(recordDeduplication, &r) })
	q.Attempts(func(r queue.AttemptRecord) bool {
		return record(s, recordAttempt, &s.counts.Attempts, wire.AttemptRecordCodec, &r)
	})
	q.Sessions(func(r queue.SessionRecord) bool {
		return record(s, recordSession, &s.counts.Sessions, wire.SessionRecordCodec, &r)
	})
	if s.err != nil {
		s.err = fmt.Errorf("queue %s: %w", r.Name, s.err)
	}
	return s.err == nil
}

func (s *writer) topic(t queue.FrozenTopic) bool {
	r := t.Record()
	if !record(s, recordTopic, &s.counts.Topics, wire.TopicRecordCodec, &r) {
		return false
	}
	t.Subscriptions(func(r queue.SubscriptionRecord) bool {
		return record(s, recordSubscription, &s.counts.Subscriptions, wire.SubscriptionRecordCodec, &r)
	})
	t.Deduplication(func(r queue.DeduplicationRecord) bool { return s.deduplication(recordTopicDeduplication, &r) })
	t.Archive(s.archived)
	t.Outbox(s.outbox)
	t.Scheduled(func(r queue.ScheduledRecord) bool {
		s.counts.Publications++
		return record(s, recordScheduled, &s.counts.Scheduled, wire.ScheduledRecordCodec, &r)
	})
	t.Rules(func(r queue.RuleRecord) bool { return record(s, recordRule, &s.counts.Rules, wire.RuleRecordCodec, &r) })
	if s.err != nil {
		s.err = fmt.Errorf("topic %s: %w", r.Name, s.err)
	}
	return s.err == nil
}

// archived writes an archived publication. An archive has each publication once.
func (s *writer) archived(r queue.ArchivedRecord) bool {
	if s.written[r.PublicationID] {
		r.Content = nil
	} else {
		s.counts.Publications++
	}
	return record(s, recordArchived, &s.counts.Archived, wire.ArchivedRecordCodec, &r)
}

func (s *writer) outbox(r queue.OutboxRecord) bool {
	s.once(r.PublicationID, &r.Content)
	return record(s, recordOutbox, &s.counts.Deliveries, wire.OutboxRecordCodec, &r)
}

// once omits the content of a publication that was already written.
func (s *writer) once(id queue.MessageID, content **notification.Notification) {
	switch {
	case *content == nil:
	case s.written[id]:
		*content = nil
	default:
		s.written[id] = true
		s.counts.Publications++
	}
}

func (s *writer) message(r *queue.MessageRecord) bool {
	s.once(r.Published.PublicationID, &r.Published.Content)
	if r.Body, s.err = s.bodies.Read(r.Body); s.err != nil {
		s.err = fmt.Errorf("message %s: %w", r.Sequence, s.err)
		return false
	}
	s.scratch = wire.AppendMessageRecord(s.scratch[:0], r)
	return s.encoded(recordMessage, &s.counts.Messages)
}

func (s *writer) deduplication(kind byte, r *queue.DeduplicationRecord) bool {
	s.scratch = wire.AppendDeduplicationRecord(s.scratch[:0], r)
	return s.encoded(kind, &s.counts.DeduplicationIds)
}
