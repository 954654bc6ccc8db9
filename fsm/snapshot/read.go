package snapshot

import (
	"errors"
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
)

// Contents counts the records in a snapshot.
type Contents struct {
	Queues           uint64
	Messages         uint64
	DeduplicationIDs uint64
	Attempts         uint64
	MoveTasks        uint64
	Tombstones       uint64
	Topics           uint64
	Subscriptions    uint64
	Publications     uint64 // shared by messages and archives
	Archived         uint64
	Deliveries       uint64 // pending HTTP deliveries
	Scheduled        uint64 // messages that topics publish later
	Rules            uint64 // of subscriptions
	AccessKeys       uint64
	UserPolicies     uint64
	Accounts         uint64
	Sections         uint64 // each with a checksum of its own
}

// Read reads and verifies a whole snapshot and builds its state. An error names the invalid
// section.
func Read(r io.Reader) (Position, *queue.Broker, error) {
	return ReadWith(r, message.Memory{})
}

// ReadWith is Read, and puts bodies into a store. The store must have the bodies that the snapshot
// refers to.
func ReadWith(r io.Reader, bodies message.Store) (Position, *queue.Broker, error) {
	position, broker, _, err := ReadContents(r, bodies)
	return position, broker, err
}

// ReadContents is ReadWith, and also counts the records. It computes digests of bodies from their
// texts, so even a store that keeps no texts verifies them.
func ReadContents(r io.Reader, bodies message.Store) (Position, *queue.Broker, Contents, error) {
	fail := func(err error) (Position, *queue.Broker, Contents, error) { return Position{}, nil, Contents{}, err }
	sections, err := newSectionReader(r)
	if err != nil {
		return fail(err)
	}
	position, err := readPosition(sections)
	if err != nil {
		return fail(err)
	}
	s := &reader{sections: sections}
	if err := s.begin(bodies); err != nil {
		return fail(err)
	}
	if err := s.records(); err != nil {
		return fail(err)
	}
	if err := sections.close(); err != nil {
		return fail(err)
	}
	broker, err := s.restorer.Finish()
	if err != nil {
		return fail(fmt.Errorf("snapshot of entry %d: %w: %w", position.Index, format.ErrMalformed, err))
	}
	if err := compare(position, broker); err != nil {
		return fail(fmt.Errorf("snapshot of entry %d: %w", position.Index, err))
	}
	return position, broker, Contents{
		Queues: s.counts.Queues, Messages: s.counts.Messages, DeduplicationIDs: s.counts.DeduplicationIds,
		Attempts: s.counts.Attempts, MoveTasks: s.counts.MoveTasks, Tombstones: s.counts.Tombstones,
		Topics: s.counts.Topics, Subscriptions: s.counts.Subscriptions, Publications: s.counts.Publications, Archived: s.counts.Archived,
		Deliveries: s.counts.Deliveries, Scheduled: s.counts.Scheduled, Rules: s.counts.Rules,
		AccessKeys: s.counts.AccessKeys, UserPolicies: s.counts.UserPolicies, Accounts: s.counts.Accounts,
		Sections: uint64(sections.number),
	}, nil
}

// IsDamage reports whether a snapshot is damaged, in contrast to an error of reading the file.
func IsDamage(err error) bool {
	for _, kind := range []error{format.ErrChecksum, format.ErrUnknownFormat, format.ErrMalformed, format.ErrStateMismatch} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// compare compares a restored state with the header. The state hash is computed from the records as
// they are added.
func compare(position Position, broker *queue.Broker) error {
	if hash := broker.StateHash(); hash != position.StateHash {
		return fmt.Errorf("%w: the header says %x, the restored state gives %x", format.ErrStateMismatch, position.StateHash, hash)
	}
	if broker.Now() != position.At {
		return fmt.Errorf("%w: the header says log time %d, the restored state %d", format.ErrStateMismatch, position.At, broker.Now())
	}
	return nil
}

// readSingle reads a section that consists of one message.
func readSingle[T any](sections *sectionReader, want sectionKind, of wire.Codec[T], m *T) error {
	kind, payload, err := sections.next()
	if err != nil {
		return err
	}
	if kind != want {
		return fmt.Errorf("snapshot section %d: %w: a section of %s where one of %s belongs", sections.number-1, format.ErrMalformed, kind,
			want)
	}
	if err := of.Read(wire.NewReader(payload), m); err != nil {
		return fmt.Errorf("snapshot section %d (%s): %w", sections.number-1, kind, err)
	}
	return nil
}

// reader builds a state from records.
type reader struct {
	sections *sectionReader
	restorer *queue.Restorer
	last     byte // kind of the last record
	counts   wire.SnapshotEnd
	topicARN string                      // of the last publication
	endpoint string                      // of the last publication
	senderID string                      // of the last publication
	stored   queue.MessageRecord         // the last message
	ids      []queue.DeduplicationRecord // read and not yet added, all of one queue or topic
}

// begin reads the section with the state outside of queues and topics.
func (s *reader) begin(bodies message.Store) error {
	var r queue.BrokerRecord
	if err := readSingle(s.sections, sectionBroker, wire.BrokerRecordCodec, &r); err != nil {
		return err
	}
	restorer, err := queue.NewRestorer(r)
	if err != nil {
		return fmt.Errorf("snapshot section 1 (broker): %w: %w", format.ErrMalformed, err)
	}
	restorer.UseStore(bodies)
	s.restorer = restorer
	return nil
}

// records reads the sections of records, and the end.
func (s *reader) records() error {
	for {
		kind, payload, err := s.sections.next()
		if err != nil {
			return err
		}
		switch kind {
		case sectionRecords:
			err = s.section(payload)
		case sectionEnd:
			err = s.end(payload)
		default:
			err = fmt.Errorf("%w: it is of %s", format.ErrUnknownFormat, kind)
		}
		if err != nil {
			return fmt.Errorf("snapshot section %d (%s): %w", s.sections.number-1, kind, err)
		}
		if kind == sectionEnd {
			return nil
		}
	}
}

// end compares the numbers of records with those at the end of the snapshot.
func (s *reader) end(payload []byte) error {
	var written wire.SnapshotEnd
	if err := wire.ReadSnapshotEnd(wire.NewReader(payload), &written); err != nil {
		return err
	}
	s.counts.Sections = uint64(s.sections.number - 1)
	if written != s.counts {
		return fmt.Errorf("%w: written were %+v, read were %+v", format.ErrChecksum, written, s.counts)
	}
	return nil
}

// section reads the records of one section.
func (s *reader) section(payload []byte) error {
	// Messages refer to this copy. The restorer keeps no part of it.
	text := string(payload)
	err := eachRecord(payload, func(kind byte, at int, body []byte) error {
		if kind != s.last || len(s.ids) == idsAtATime {
			if err := s.addIDs(); err != nil {
				return err
			}
		}
		if err := s.inOrder(kind); err != nil {
			return err
		}
		return s.record(kind, body, text[at:at+len(body)])
	})
	if err != nil {
		return err
	}
	return s.addIDs()
}

// inOrder refuses records in another order than Write's: only then do equal states have equal
// bytes.
func (s *reader) inOrder(kind byte) error {
	ofQueue := kind >= recordMessage && kind <= recordSession
	ofTopic := kind > recordTopic && kind <= recordRule
	queuesOver := s.last >= recordTopic
	begins := kind == recordQueue && !queuesOver || kind == recordTopic && s.last <= recordRule
	if (ofQueue && s.last < recordQueue) || (ofTopic && !queuesOver) || (kind < s.last && !begins) {
		return fmt.Errorf("%w: a record of kind %d after one of kind %d", format.ErrMalformed, kind, s.last)
	}
	s.last = kind
	return nil
}

// record passes one record to the restorer. text is the same as body.
func (s *reader) record(kind byte, body []byte, text string) error {
	switch kind {
	case recordTombstone:
		s.counts.Tombstones++
		return add(body, wire.TombstoneRecordCodec, s.restorer.AddTombstone)
	case recordMoveTask:
		s.counts.MoveTasks++
		return add(body, wire.MoveTaskRecordCodec, s.restorer.AddMoveTask)
	case recordQueue:
		s.counts.Queues++
		return add(body, wire.QueueRecordCodec, s.restorer.AddQueue)
	case recordMessage:
		s.counts.Messages++
		return s.message(body, text)
	case recordDeduplication, recordTopicDeduplication:
		s.counts.DeduplicationIds++
		s.ids = append(s.ids, queue.DeduplicationRecord{})
		return wire.ReadDeduplicationRecord(wire.NewSharedReader(text), &s.ids[len(s.ids)-1])
	case recordAttempt:
		s.counts.Attempts++
		return add(body, wire.AttemptRecordCodec, s.restorer.AddAttempt)
	case recordSession:
		s.counts.Sessions++
		return add(body, wire.SessionRecordCodec, s.restorer.AddSession)
	case recordTopic:
		s.counts.Topics++
		return add(body, wire.TopicRecordCodec, s.restorer.AddTopic)
	case recordSubscription:
		s.counts.Subscriptions++
		return add(body, wire.SubscriptionRecordCodec, s.restorer.AddSubscription)
	case recordArchived:
		s.counts.Archived++
		return add(body, wire.ArchivedRecordCodec, func(r queue.ArchivedRecord) error {
			s.publication(r.PublicationID, r.Content)
			return s.restorer.AddArchived(r)
		})
	case recordOutbox:
		s.counts.Deliveries++
		return add(body, wire.OutboxRecordCodec, func(r queue.OutboxRecord) error {
			s.publication(r.PublicationID, r.Content)
			return s.restorer.AddOutbox(r)
		})
	case recordScheduled:
		s.counts.Scheduled++
		return add(body, wire.ScheduledRecordCodec, func(r queue.ScheduledRecord) error {
			s.publication(r.PublicationID, r.Content)
			return s.restorer.AddScheduled(r)
		})
	case recordRule:
		s.counts.Rules++
		return add(body, wire.RuleRecordCodec, s.restorer.AddRule)
	case recordAccessKey:
		s.counts.AccessKeys++
		return add(body, wire.AccessKeyRecordCodec, addAccess[access.Key](s))
	case recordUserPolicy:
		s.counts.UserPolicies++
		return add(body, wire.UserPolicyRecordCodec, addAccess[access.Policy](s))
	case recordAccount:
		s.counts.Accounts++
		return add(body, wire.AccountRecordCodec, addAccess[access.Account](s))
	case recordSealingKey:
		s.counts.SealingKeys++
		return add(body, wire.SealingKeyRecordCodec, func(k access.SealingKey) error { return s.restorer.AddAccess(&k) })
	}
	return fmt.Errorf("%w: a record of kind %d", format.ErrUnknownFormat, kind)
}

// addAccess returns the function that adds records of package access.
func addAccess[T access.Record](s *reader) func(T) error {
	return func(record T) error { return s.restorer.AddAccess(record) }
}

// message reads a message. The restorer keeps its texts only if a topic delivered it, so only then
// they are copied.
func (s *reader) message(body []byte, text string) error {
	s.stored = queue.MessageRecord{}
	err := readMessage(wire.NewSharedReader(text), &s.stored)
	if err == nil && s.stored.Published.PublicationID != (queue.MessageID{}) {
		s.stored = queue.MessageRecord{}
		err = readMessage(wire.NewReader(body), &s.stored)
		s.publication(s.stored.Published.PublicationID, s.stored.Published.Content)
	}
	if err != nil {
		return err
	}
	return malformed(s.restorer.AddMessage(&s.stored))
}

// readMessage reads a message. If a topic delivered it, its body is in the publication.
func readMessage(r wire.Reader, m *queue.MessageRecord) error {
	if err := wire.ReadMessageRecord(r, m); err != nil {
		return err
	}
	if m.Body.Stored() && m.Published.PublicationID != (queue.MessageID{}) {
		return fmt.Errorf("%w: a stored body beside a publication", format.ErrMalformed)
	}
	return nil
}

// publication counts a publication, unless n is nil, and shares texts with the previous one.
func (s *reader) publication(id queue.MessageID, n *notification.Notification) {
	if n == nil {
		return
	}
	s.counts.Publications++
	n.MessageID = id
	if n.TopicARN == s.topicARN {
		n.TopicARN = s.topicARN
	}
	if n.Endpoint == s.endpoint {
		n.Endpoint = s.endpoint
	}
	if n.SenderID == s.senderID {
		n.SenderID = s.senderID
	}
	s.topicARN, s.endpoint, s.senderID = n.TopicARN, n.Endpoint, n.SenderID
}

// idsAtATime is the number of remembered ids to add together: more than the memory reads that a
// processor does in parallel.
const idsAtATime = 64

// addIDs passes the remembered ids to the restorer.
func (s *reader) addIDs() error {
	if len(s.ids) == 0 {
		return nil
	}
	take := s.restorer.AddDeduplication
	if s.last == recordTopicDeduplication {
		take = s.restorer.AddTopicDeduplication
	}
	err := malformed(take(s.ids))
	s.ids = s.ids[:0]
	return err
}

// add reads one record, with copies of all texts, and passes it to the restorer.
func add[T any](body []byte, of wire.Codec[T], take func(T) error) error {
	var r T
	if err := of.Read(wire.NewReader(body), &r); err != nil {
		return err
	}
	return malformed(take(r))
}

// malformed wraps the error of a Restorer that refused a record.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", format.ErrMalformed, err)
}
