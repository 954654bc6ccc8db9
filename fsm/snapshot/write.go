package snapshot

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/content"
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
	// Of topics. A message that a topic delivered holds its
	// publication, or names one that an earlier record of the snapshot holds; so does
	// what is archived, or has still to be delivered over HTTP.
	recordTopic              = 8
	recordSubscription       = 9
	recordTopicDeduplication = 10
	recordArchived           = 11
	recordOutbox             = 12
	// Of access, behind all topics.
	recordAccessKey  = 13
	recordUserPolicy = 14
	recordAccount    = 15
	recordSealingKey = 16
)

// Write writes a captured state with all bodies in it, so that it can be read anywhere.
// Equal states at equal positions give equal bytes.
func Write(w io.Writer, position Position, frozen *queue.Frozen) error {
	return write(w, position, frozen, frozen.Bodies())
}

// WriteReferences writes a captured state without the bodies that this node has in
// segments: it says where they are. Only this node can use it.
func WriteReferences(w io.Writer, position Position, frozen *queue.Frozen) error {
	return write(w, position, frozen, references{})
}

// references leaves bodies where they are.
type references struct{}

// Read returns b.
func (references) Read(b queue.Body) (queue.Body, error) { return b, nil }

func write(w io.Writer, position Position, frozen *queue.Frozen, bodies content.Reader) error {
	sections, err := newSectionWriter(w)
	if err != nil {
		return err
	}
	s := &writer{sections: sections, bodies: bodies, written: map[queue.MessageID]bool{}}
	s.single(sectionHeader, &fsmpb.SnapshotHeader{
		Index:     position.Index,
		Term:      position.Term,
		At:        int64(position.At),
		StateHash: position.StateHash[:],
		ChainHash: position.ChainHash[:],
	})
	s.single(sectionBroker, brokerMessage(frozen.Broker()))
	frozen.Tombstones(s.tombstone)
	frozen.MoveTasks(s.moveTask)
	frozen.Queues(s.queue)
	frozen.Topics(s.topic)
	frozen.Access().Keys(func(k access.Key) bool {
		return s.record(recordAccessKey, &s.counts.AccessKeys, accessKeyMessage(k))
	})
	frozen.Access().Policies(func(p access.Policy) bool {
		return s.record(recordUserPolicy, &s.counts.UserPolicies, userPolicyMessage(p))
	})
	frozen.Access().Accounts(func(a access.Account) bool {
		return s.record(recordAccount, &s.counts.Accounts, accountMessage(a))
	})
	if key := frozen.Access().SealingKey(); key != nil {
		s.record(recordSealingKey, &s.counts.SealingKeys, sealingKeyMessage(key))
	}
	if s.err == nil && s.sections.filled() > 0 {
		s.err = s.sections.end(sectionRecords)
	}
	s.counts.Sections = uint64(s.sections.number)
	s.single(sectionEnd, &s.counts)
	return s.err
}

// writer walks a captured state. The first error ends all walks. The
// messages are reused from record to record.
type writer struct {
	sections *sectionWriter
	bodies   content.Reader
	err      error
	scratch  []byte
	counts   fsmpb.SnapshotEnd
	message  fsmpb.MessageRecord
	attempt  fsmpb.AttemptRecord
	written  map[queue.MessageID]bool // publications; looked up, never walked
}

// single writes a section of one protobuf message.
func (s *writer) single(kind sectionKind, m proto.Message) {
	if s.err != nil {
		return
	}
	if s.sections.buffer, s.err = protobuf.Append(s.sections.buffer, m); s.err == nil {
		s.err = s.sections.end(kind)
	}
}

// record adds a record to the present section and ends it once it is long
// enough. It reports whether to go on.
func (s *writer) record(kind byte, count *uint64, m proto.Message) bool {
	if s.err != nil {
		return false
	}
	if s.scratch, s.err = protobuf.Append(s.scratch[:0], m); s.err != nil {
		return false
	}
	return s.encoded(kind, count)
}

// encoded is record for what is in scratch.
func (s *writer) encoded(kind byte, count *uint64) bool {
	if s.err != nil {
		return false
	}
	*count++
	s.err = s.sections.record(kind, s.scratch)
	return s.err == nil
}

func (s *writer) tombstone(r queue.TombstoneRecord) bool {
	return s.record(recordTombstone, &s.counts.Tombstones, tombstoneMessage(r))
}

func (s *writer) moveTask(r queue.MoveTaskRecord) bool {
	return s.record(recordMoveTask, &s.counts.MoveTasks, moveTaskMessage(r))
}

func (s *writer) queue(q queue.FrozenQueue) bool {
	record := q.Record()
	if !s.record(recordQueue, &s.counts.Queues, queueMessage(&record)) {
		return false
	}
	q.Messages(s.storedMessage)
	q.Deduplication(s.deduplication)
	q.Attempts(s.receiveAttempt)
	q.Sessions(s.session)
	if s.err != nil {
		s.err = fmt.Errorf("queue %s: %w", record.Name, s.err)
	}
	return s.err == nil
}

func (s *writer) topic(t queue.FrozenTopic) bool {
	record := t.Record()
	if !s.record(recordTopic, &s.counts.Topics, topicMessage(&record)) {
		return false
	}
	t.Subscriptions(func(r queue.SubscriptionRecord) bool {
		return s.record(recordSubscription, &s.counts.Subscriptions, subscriptionMessage(&r))
	})
	t.Deduplication(func(r queue.DeduplicationRecord) bool {
		s.scratch = appendDeduplication(s.scratch[:0], &r)
		return s.encoded(recordTopicDeduplication, &s.counts.DeduplicationIds)
	})
	t.Archive(s.archived)
	t.Outbox(s.outbox)
	if s.err != nil {
		s.err = fmt.Errorf("topic %s: %w", record.Name, s.err)
	}
	return s.err == nil
}

// archived writes a publication of an archive, of which there is one only.
func (s *writer) archived(r queue.ArchivedRecord) bool {
	if s.written[r.PublicationID] {
		r.Content = nil
	} else {
		s.counts.Publications++
	}
	return s.record(recordArchived, &s.counts.Archived, archivedMessage(&r))
}

func (s *writer) outbox(r queue.OutboxRecord) bool {
	s.once(r.PublicationID, &r.Content)
	return s.record(recordOutbox, &s.counts.Deliveries, outboxMessage(&r))
}

// once leaves out a publication that was written before.
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

func (s *writer) storedMessage(r *queue.MessageRecord) bool {
	s.once(r.Published.PublicationID, &r.Published.Content)
	if r.Body, s.err = s.bodies.Read(r.Body); s.err != nil {
		s.err = fmt.Errorf("message %s: %w", r.Sequence, s.err)
		return false
	}
	if plainMessage(r) {
		s.scratch = appendMessage(s.scratch[:0], r)
		return s.encoded(recordMessage, &s.counts.Messages)
	}
	fillMessage(&s.message, r)
	return s.record(recordMessage, &s.counts.Messages, &s.message)
}

func (s *writer) deduplication(r queue.DeduplicationRecord) bool {
	s.scratch = appendDeduplication(s.scratch[:0], &r)
	return s.encoded(recordDeduplication, &s.counts.DeduplicationIds)
}

func (s *writer) receiveAttempt(r queue.AttemptRecord) bool {
	fillAttempt(&s.attempt, &r)
	return s.record(recordAttempt, &s.counts.Attempts, &s.attempt)
}

func (s *writer) session(r queue.SessionRecord) bool {
	return s.record(recordSession, &s.counts.Sessions, sessionMessage(r))
}
