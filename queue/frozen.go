package queue

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Frozen is an immutable copy of a Broker's state. Scans visit records in the order that a Restorer
// requires; they stop when yield returns false.
type Frozen struct {
	record     BrokerRecord
	hash       [16]byte
	key        statehash.Key
	queues     *btree.Map[string, *Queue]
	topics     topic.Frozen
	outbox     outbox.Frozen
	tombstones *btree.Map[string, Timestamp]
	moveTasks  *btree.Map[uint64, *MoveTaskRecord]
	access     *access.Table
	bodies     message.Reader
}

// Freeze captures the state in constant time. Another goroutine may read it while commands are
// applied: the Broker then changes clones of the frozen queues.
func (b *Broker) Freeze() *Frozen {
	b.generation++
	return &Frozen{
		record:     b.record(),
		hash:       b.StateHash(),
		key:        b.key,
		queues:     b.queues.Copy(),
		topics:     b.topics.Freeze(),
		outbox:     b.outbox.Freeze(),
		tombstones: b.tombstones.byName.Copy(),
		moveTasks:  b.moveTasks.byNumber.Copy(),
		access:     b.access,
		bodies:     b.bodies,
	}
}

func (b *Broker) record() BrokerRecord {
	r := BrokerRecord{
		Now:             b.now,
		FormatVersion:   b.formatVersion,
		Epoch:           b.epoch,
		NextIncarnation: b.nextIncarnation,
		NextMoveTask:    b.nextMoveTask,
		SequenceFloor:   b.sequenceFloor,
	}
	b.settings.Scan(func(name, value string) bool {
		r.Settings = append(r.Settings, Attribute{Name: name, Value: value})
		return true
	})
	return r
}

// Broker returns the state outside of queues and topics.
func (f *Frozen) Broker() BrokerRecord { return f.record }

// StateHash returns Broker.StateHash at the time of Freeze.
func (f *Frozen) StateHash() [16]byte { return f.hash }

// Bodies returns a reader of the messages' bodies. The caller of Freeze must keep the bodies
// available while the Frozen is used.
func (f *Frozen) Bodies() message.Reader { return f.bodies }

// Access returns the access keys, user policies and accounts.
func (f *Frozen) Access() *access.Table { return f.access }

// Tombstones visits the deleted queues in order of name.
func (f *Frozen) Tombstones(yield func(TombstoneRecord) bool) {
	f.tombstones.Scan(func(name string, at Timestamp) bool { return yield(TombstoneRecord{name, at}) })
}

// MoveTasks visits all move tasks in order of number.
func (f *Frozen) MoveTasks(yield func(MoveTaskRecord) bool) {
	f.moveTasks.Scan(func(_ uint64, t *MoveTaskRecord) bool { return yield(*t) })
}

// Queues visits the queues in order of name.
func (f *Frozen) Queues(yield func(FrozenQueue) bool) {
	f.queues.Scan(func(_ string, q *Queue) bool { return yield(FrozenQueue{q}) })
}

// FrozenQueue is one queue of a Frozen state.
type FrozenQueue struct{ q *Queue }

// Record returns the queue without its messages.
func (f FrozenQueue) Record() QueueRecord {
	q := f.q
	return QueueRecord{
		Name:          q.name,
		Incarnation:   q.incarnation,
		Attributes:    q.attributes,
		Tags:          q.tags,
		CreatedAt:     q.createdAt,
		ModifiedAt:    q.modifiedAt,
		PurgedAt:      q.purgedAt,
		ForgotAt:      q.forgotAt,
		UsedAt:        q.usedAt,
		LastSequence:  q.lastSequence,
		LastAttempt:   q.attempts.last,
		LastLock:      q.groups.sessions.LastLock(),
		DeadBefore:    q.deduplication.DeadBefore(),
		FiredAt:       q.timers.fired.at,
		FiredSequence: q.timers.fired.sequence,
	}
}

// Messages visits messages by sequence number, then scheduled, then deferred ones. It reuses one
// record.
func (f FrozenQueue) Messages(yield func(*MessageRecord) bool) {
	more := true
	var record MessageRecord
	visit := func(scheduled bool) func(uint64, *Message) bool {
		return func(_ uint64, m *Message) bool {
			m.describe(&record, scheduled)
			more = yield(&record)
			return more
		}
	}
	f.q.messages.Look(visit(false))
	if more {
		f.q.scheduled.Look(visit(true))
	}
	if more {
		f.q.deferred.Look(visit(false))
	}
}

// describe fills the record of a message.
func (m *Message) describe(r *MessageRecord, scheduled bool) {
	*r = MessageRecord{
		Sequence:        SequenceNumber(m.sequence),
		Body:            m.body,
		GroupID:         m.group,
		DeduplicationID: m.deduplicationID,
		SenderID:        *m.sender,
		SentAt:          m.sentAt,
		Scheduled:       scheduled,
	}
	if e := m.extra; e != nil {
		r.MessageID, r.TraceHeader, r.Attributes = e.id, e.traceHeader, e.attributes
		r.DeadLetterSource, r.PartitionKey, r.KeepsAge = e.deadLetterSource, e.partition, e.keepsAge
		r.TimeToLive, r.Encoded, r.Hops = e.timeToLive, e.encoded, e.hops
		if p := e.published; p != nil {
			n := p.publication.Content()
			r.Published = PublishedRecord{PublicationID: n.MessageID, Content: n, SubscriptionARN: *p.subscription, Raw: p.raw,
				Replayed: p.replayed}
			r.RuleChanges = p.changes
		}
	}
	if d := m.delivery; d != nil {
		r.Timed = true
		r.VisibleAt, r.Deliveries, r.ReceiveCount = d.visibleAt, d.count, d.receiveCount
		r.FirstReceivedAt, r.ReceivedAt = d.firstReceivedAt, d.receivedAt
		r.AttemptID, r.AttemptNumber = d.attemptID, d.attemptNumber
		r.SessionLock, r.TakenBack, r.Deferred = d.session, d.takenBack, d.deferred
	}
}

// Deduplication visits the remembered ids in order of acceptance.
func (f FrozenQueue) Deduplication(yield func(DeduplicationRecord) bool) {
	f.q.deduplication.Scan(func(r deduplication.Record) bool { return yield(deduplicationRecord(r)) })
}

func deduplicationRecord(r deduplication.Record) DeduplicationRecord {
	return DeduplicationRecord{
		Order:      r.Order(),
		Key:        statehash.Sum{High: r.Key.High, Low: r.Key.Low}.Bytes(),
		Scope:      r.Scope(),
		AcceptedAt: Timestamp(r.AcceptedAt),
		Sequence:   SequenceNumber(r.Sequence()),
	}
}

// Attempts visits the remembered receive attempts in order of number.
func (f FrozenQueue) Attempts(yield func(AttemptRecord) bool) {
	f.q.attempts.order.Scan(func(_ uint64, id string) bool {
		a, _ := f.q.attempts.byID.Get(id)
		return yield(AttemptRecord{
			ID: a.id, Number: a.number, ReceivedAt: a.receivedAt, Invalid: a.invalid, Deliveries: a.deliveries,
		})
	})
}

// Sessions visits the sessions with a lock or a state, in order of name.
func (f FrozenQueue) Sessions(yield func(SessionRecord) bool) {
	f.q.groups.sessions.Scan(func(r *session.Record) bool { return yield(*r) })
}

// A snapshot consists of these records. Frozen yields them and a Restorer takes them, in one fixed
// order. A Restorer rebuilds the indexes.

// BrokerRecord is the state outside of queues and topics.
type BrokerRecord struct {
	Now             Timestamp
	FormatVersion   uint32
	Epoch           uint32 // raised when a backup is restored
	NextIncarnation uint64
	NextMoveTask    uint64
	SequenceFloor   uint64      // deleted queues may have used numbers up to it
	Settings        []Attribute // sorted by name
}

// TombstoneRecord remembers a deleted queue for the 60-second rule of AWS.
type TombstoneRecord struct {
	Queue     string
	DeletedAt Timestamp
}

// QueueRecord is a queue without its messages.
type QueueRecord struct {
	Name         string
	Incarnation  uint64
	Attributes   QueueAttributes
	Tags         []Tag // sorted by key
	CreatedAt    Timestamp
	ModifiedAt   Timestamp
	PurgedAt     Timestamp // zero: never
	ForgotAt     Timestamp // last time an id was forgotten by command, zero: never
	UsedAt       Timestamp // last use by a client, see NoteUse
	LastSequence uint64    // the highest number used
	LastAttempt  uint64    // number of the newest receive attempt
	LastLock     uint64    // number of the newest session lock
	DeadBefore   Timestamp // deduplication records accepted by then are expired
	// FiredAt and FiredSequence are the last timer that fired. Every later timer is pending, even
	// if it is due, because expiry is bounded per entry.
	FiredAt       Timestamp
	FiredSequence uint64
}

// MessageRecord is one stored message with its delivery state.
type MessageRecord struct {
	Sequence         SequenceNumber
	Body             Body
	MessageID        MessageID // zero: derived from incarnation and Sequence
	GroupID          string
	DeduplicationID  string
	SenderID         string
	TraceHeader      string
	Attributes       []MessageAttribute
	DeadLetterSource string
	PartitionKey     string
	SentAt           Timestamp
	TimeToLive       logtime.Duration // from SentAt; zero: none
	Hops             uint8            // times that it was forwarded
	KeepsAge         bool             // moved with its SentAt, so SentAt is out of order
	Scheduled        bool             // outside its group until VisibleAt
	Timed            bool             // DeliveryRecord is set
	Encoded          *Encoded         // nil for text
	// Published is set if a topic delivered the message, which then has no Body and no Attributes.
	Published PublishedRecord
	// RuleChanges are the changes of a rule to a published message, sorted.
	RuleChanges []PropertyChange
	DeliveryRecord
}

// PublishedRecord is the part of a message that a topic delivered.
type PublishedRecord struct {
	PublicationID MessageID // the topic's; zero if no topic delivered the message
	// Content is the publication. It must be set for the first message of a publication; later
	// messages may omit it or repeat the pointer.
	Content         *notification.Notification
	SubscriptionARN string
	Raw             bool
	Replayed        bool
}

// DeliveryRecord is the delivery state of a message.
type DeliveryRecord struct {
	VisibleAt Timestamp
	// Deliveries counts deliveries by this queue; ReceiveCount includes those before a dead-letter
	// move.
	Deliveries      uint32
	ReceiveCount    int64
	FirstReceivedAt Timestamp
	ReceivedAt      Timestamp
	AttemptID       string
	AttemptNumber   uint64
	SessionLock     uint64 // of the last delivery, zero without a session
	TakenBack       uint32 // deliveries that do not count: of released sessions, or given back
	Deferred        bool   // delivered by sequence number only
}

// DeduplicationRecord is one remembered deduplication id.
type DeduplicationRecord struct {
	Order      uint64 // Sequence shifted left by one; the low bit marks a message's second key
	Key        [16]byte
	Scope      deduplication.Scope
	AcceptedAt Timestamp
	Sequence   SequenceNumber
}

// AttemptRecord is one remembered ReceiveRequestAttemptId.
type AttemptRecord struct {
	ID         string
	Number     uint64
	ReceivedAt Timestamp
	Invalid    bool
	Deliveries []AttemptDelivery
}

// AttemptDelivery is one message of a receive attempt.
type AttemptDelivery struct {
	Sequence SequenceNumber
	Delivery uint32
}

// SessionRecord is one session that is locked or has a state.
type SessionRecord = session.Record

// MoveTaskRecord is one move task, running or ended.
type MoveTaskRecord struct {
	ID            string
	Number        uint64
	Source        string
	Destination   string // empty: the source of each message
	MaxPerSecond  int64  // 0: not given
	Status        MoveTaskStatus
	StartedAt     Timestamp
	Moved         int64
	ToMove        int64
	FailureReason string
}

// MoveTaskStatus is the state of a move task.
type MoveTaskStatus uint8

// Move task states; the numbers are stored in snapshots.
const (
	MoveTaskRunning   MoveTaskStatus = 1
	MoveTaskCompleted MoveTaskStatus = 2
	MoveTaskStopped   MoveTaskStatus = 3
	MoveTaskFailed    MoveTaskStatus = 4
)
