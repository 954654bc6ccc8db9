package snapshot

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/notification"
)

// Contents counts what a snapshot holds.
type Contents struct {
	Queues           uint64
	Messages         uint64
	DeduplicationIDs uint64
	Attempts         uint64
	MoveTasks        uint64
	Tombstones       uint64
	Topics           uint64
	Subscriptions    uint64
	Publications     uint64 // that messages and archives refer to
	Archived         uint64
	Deliveries       uint64 // over HTTP, not done
	AccessKeys       uint64
	UserPolicies     uint64
	Accounts         uint64
	Sections         uint64 // each with a checksum of its own
}

// Read reads and verifies a whole snapshot and builds its state. The
// error says which section is at fault.
func Read(r io.Reader) (Position, *queue.Broker, error) {
	return ReadWith(r, content.Memory{})
}

// ReadWith is Read, and has bodies put into a store, which must have those that the
// snapshot refers to.
func ReadWith(r io.Reader, bodies content.Store) (Position, *queue.Broker, error) {
	position, broker, _, err := ReadContents(r, bodies)
	return position, broker, err
}

// ReadContents is ReadWith, and also counts. Digests of bodies that are in the snapshot are
// computed from their texts, so that a store which forgets these changes nothing of what is
// verified.
func ReadContents(r io.Reader, bodies content.Store) (Position, *queue.Broker, Contents, error) {
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
		Deliveries: s.counts.Deliveries,
		AccessKeys: s.counts.AccessKeys, UserPolicies: s.counts.UserPolicies, Accounts: s.counts.Accounts,
		Sections: uint64(sections.number),
	}, nil
}

// ReadPosition reads the header of a snapshot only.
func ReadPosition(r io.Reader) (Position, error) {
	sections, err := newSectionReader(r)
	if err != nil {
		return Position{}, err
	}
	return readPosition(sections)
}

// IsDamage tells damage of a snapshot from failures to read it.
func IsDamage(err error) bool {
	for _, kind := range []error{format.ErrChecksum, format.ErrUnknownFormat, format.ErrMalformed, format.ErrStateMismatch} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// compare checks a restored state against the header. Its hash is the sum over
// the records that were read, each hashed as it was added.
func compare(position Position, broker *queue.Broker) error {
	if hash := broker.StateHash(); hash != position.StateHash {
		return fmt.Errorf("%w: the header says %x, the restored state gives %x", format.ErrStateMismatch, position.StateHash, hash)
	}
	if broker.Now() != position.At {
		return fmt.Errorf("%w: the header says log time %d, the restored state %d", format.ErrStateMismatch, position.At, broker.Now())
	}
	return nil
}

func readPosition(sections *sectionReader) (Position, error) {
	var header fsmpb.SnapshotHeader
	if err := readSingle(sections, sectionHeader, &header); err != nil {
		return Position{}, err
	}
	position := Position{Index: header.Index, Term: header.Term, At: queue.Timestamp(header.At)}
	if err := protobuf.Fill(position.StateHash[:], header.StateHash, "state hash"); err != nil {
		return Position{}, fmt.Errorf("snapshot header: %w", err)
	}
	if err := protobuf.Fill(position.ChainHash[:], header.ChainHash, "chain hash"); err != nil {
		return Position{}, fmt.Errorf("snapshot header: %w", err)
	}
	return position, nil
}

// readSingle reads a section of one protobuf message.
func readSingle(sections *sectionReader, want sectionKind, m proto.Message) error {
	kind, payload, err := sections.next()
	if err != nil {
		return err
	}
	if kind != want {
		return fmt.Errorf("snapshot section %d: %w: a section of %s where one of %s belongs", sections.number-1, format.ErrMalformed, kind, want)
	}
	if err := protobuf.Unmarshal(payload, m); err != nil {
		return fmt.Errorf("snapshot section %d (%s): %w", sections.number-1, kind, err)
	}
	return nil
}

// reader builds a state from records. The messages are reused.
type reader struct {
	sections *sectionReader
	restorer *queue.Restorer
	last     byte // kind of the record read last
	counts   fsmpb.SnapshotEnd
	message  fsmpb.MessageRecord
	known    fsmpb.DeduplicationRecord
	attempt  fsmpb.AttemptRecord
	topicARN string                      // of the publication read last
	endpoint string                      // likewise
	senderID string                      // likewise
	stored   queue.MessageRecord         // read last
	ids      []queue.DeduplicationRecord // read and not added yet, all of one queue or topic
}

// begin reads the record of what belongs to no queue.
func (s *reader) begin(bodies content.Store) error {
	var m fsmpb.BrokerRecord
	if err := readSingle(s.sections, sectionBroker, &m); err != nil {
		return err
	}
	restorer, err := queue.NewRestorer(brokerRecord(&m))
	if err != nil {
		return fmt.Errorf("snapshot section 1 (broker): %w: %w", format.ErrMalformed, err)
	}
	restorer.UseStore(bodies)
	s.restorer = restorer
	return nil
}

// records reads sections of records up to and with the end.
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

// end compares what was read with what was written.
func (s *reader) end(payload []byte) error {
	var written fsmpb.SnapshotEnd
	if err := protobuf.Unmarshal(payload, &written); err != nil {
		return err
	}
	s.counts.Sections = uint64(s.sections.number - 1)
	if !proto.Equal(&written, &s.counts) {
		return fmt.Errorf("%w: written were {%v}, read were {%v}", format.ErrChecksum, &written, &s.counts)
	}
	return nil
}

// section reads the records of one section.
func (s *reader) section(payload []byte) error {
	// Records that are read by hand refer to one copy of it, of which nothing is kept.
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

// inOrder holds the records to the order in which they are written, for only
// then do equal states have equal bytes.
func (s *reader) inOrder(kind byte) error {
	ofQueue := kind >= recordMessage && kind <= recordSession
	ofTopic := kind > recordTopic && kind <= recordOutbox
	queuesOver := s.last >= recordTopic
	begins := kind == recordQueue && !queuesOver || kind == recordTopic && s.last <= recordOutbox
	if (ofQueue && s.last < recordQueue) || (ofTopic && !queuesOver) || (kind < s.last && !begins) {
		return fmt.Errorf("%w: a record of kind %d after one of kind %d", format.ErrMalformed, kind, s.last)
	}
	s.last = kind
	return nil
}

// record hands one record to the restorer. text is its body once more.
func (s *reader) record(kind byte, body []byte, text string) error {
	var err error
	switch kind {
	case recordTombstone:
		s.counts.Tombstones++
		err = add(body, &fsmpb.TombstoneRecord{}, tombstoneRecord, s.restorer.AddTombstone)
	case recordMoveTask:
		s.counts.MoveTasks++
		err = add(body, &fsmpb.MoveTaskRecord{}, moveTaskRecord, s.restorer.AddMoveTask)
	case recordQueue:
		s.counts.Queues++
		err = add(body, &fsmpb.QueueRecord{}, queueRecord, s.restorer.AddQueue)
	case recordMessage:
		s.counts.Messages++
		if plainMessageRecord(&s.stored, text) {
			err = malformed(s.restorer.AddMessage(&s.stored))
			break
		}
		err = add(body, &s.message, s.messageRecord, s.restorer.AddMessage)
	case recordDeduplication:
		s.counts.DeduplicationIds++
		err = s.deduplication(body, text)
	case recordAttempt:
		s.counts.Attempts++
		err = add(body, &s.attempt, attemptRecord, s.restorer.AddAttempt)
	case recordSession:
		s.counts.Sessions++
		err = add(body, &fsmpb.SessionRecord{}, sessionRecord, s.restorer.AddSession)
	case recordTopic:
		s.counts.Topics++
		err = add(body, &fsmpb.TopicRecord{}, topicRecord, s.restorer.AddTopic)
	case recordSubscription:
		s.counts.Subscriptions++
		err = add(body, &fsmpb.SubscriptionRecord{}, subscriptionRecord, s.restorer.AddSubscription)
	case recordTopicDeduplication:
		s.counts.DeduplicationIds++
		err = s.deduplication(body, text)
	case recordArchived:
		s.counts.Archived++
		err = add(body, &fsmpb.ArchivedRecord{}, s.archivedRecord, s.restorer.AddArchived)
	case recordOutbox:
		s.counts.Deliveries++
		err = add(body, &fsmpb.OutboxRecord{}, s.outboxRecord, s.restorer.AddOutbox)
	case recordAccessKey:
		s.counts.AccessKeys++
		err = add(body, &fsmpb.AccessKeyRecord{}, accessKeyRecord, s.restorer.AddAccessKey)
	case recordUserPolicy:
		s.counts.UserPolicies++
		err = add(body, &fsmpb.UserPolicyRecord{}, userPolicyRecord, s.restorer.AddUserPolicy)
	case recordAccount:
		s.counts.Accounts++
		err = add(body, &fsmpb.AccountRecord{}, accountRecord, s.restorer.AddAccount)
	case recordSealingKey:
		s.counts.SealingKeys++
		err = add(body, &fsmpb.SealingKeyRecord{}, sealingKeyRecord, s.restorer.AddSealingKey)
	default:
		err = fmt.Errorf("%w: a record of kind %d", format.ErrUnknownFormat, kind)
	}
	return err
}

// messageRecord counts the publications and shares what most of them have in common.
func (s *reader) messageRecord(m *fsmpb.MessageRecord) (_ *queue.MessageRecord, err error) {
	s.stored, err = messageRecord(m)
	s.count(s.stored.Published.Content)
	return &s.stored, err
}

// archivedRecord likewise.
func (s *reader) archivedRecord(m *fsmpb.ArchivedRecord) (queue.ArchivedRecord, error) {
	r, err := archivedRecord(m)
	s.count(r.Content)
	return r, err
}

// outboxRecord likewise.
func (s *reader) outboxRecord(m *fsmpb.OutboxRecord) (queue.OutboxRecord, error) {
	r, err := outboxRecord(m)
	s.count(r.Content)
	return r, err
}

// count counts a publication, nil for none.
func (s *reader) count(n *notification.Notification) {
	if n == nil {
		return
	}
	s.counts.Publications++
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

// add decodes one record, converts it and gives it to the restorer.
func add[M proto.Message, R any](body []byte, m M, convert func(M) (R, error), take func(R) error) error {
	if err := protobuf.Unmarshal(body, m); err != nil {
		return err
	}
	record, err := convert(m)
	if err != nil {
		return err
	}
	return malformed(take(record))
}

// malformed is the error of a Restorer that refused a record.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", format.ErrMalformed, err)
}
