package queue

import (
	"github.com/tidwall/btree"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/outbox"
	"github.com/seriatimq/seriatim/queue/session"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/queue/topic"
)

// Frozen is an immutable copy of a Broker's state. Walks visit records in the
// order a Restorer takes them; yield returns false to stop early.
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
	bodies     content.Reader
}

// Freeze captures the state in time independent of its size. The Frozen state
// may be read by another goroutine while commands go on being applied: from
// here on the Broker changes clones of queues, never the frozen ones.
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

// Broker is the record of what belongs to no queue.
func (f *Frozen) Broker() BrokerRecord { return f.record }

// StateHash is Broker.StateHash at the time of Freeze.
func (f *Frozen) StateHash() [16]byte { return f.hash }

// Bodies reads the bodies of the messages. That they are there as long as the Frozen is
// used is the business of who froze the state.
func (f *Frozen) Bodies() content.Reader { return f.bodies }

// Access is who may use the cluster.
func (f *Frozen) Access() *access.Table { return f.access }

// Tombstones visits the deleted queues by name.
func (f *Frozen) Tombstones(yield func(TombstoneRecord) bool) {
	f.tombstones.Scan(func(name string, at Timestamp) bool { return yield(TombstoneRecord{name, at}) })
}

// MoveTasks visits all move tasks by number.
func (f *Frozen) MoveTasks(yield func(MoveTaskRecord) bool) {
	f.moveTasks.Scan(func(_ uint64, t *MoveTaskRecord) bool { return yield(*t) })
}

// Queues visits the queues by name.
func (f *Frozen) Queues(yield func(FrozenQueue) bool) {
	f.queues.Scan(func(_ string, q *Queue) bool { return yield(FrozenQueue{q}) })
}

// FrozenQueue is one queue of a Frozen state.
type FrozenQueue struct{ q *Queue }

// Record is the queue without its messages.
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
		LastSequence:  q.lastSequence,
		LastAttempt:   q.attempts.last,
		LastLock:      q.groups.sessions.LastLock(),
		DeadBefore:    q.deduplication.DeadBefore(),
		FiredAt:       q.timers.fired.at,
		FiredSequence: q.timers.fired.sequence,
	}
}

// Messages visits messages by sequence number, then the scheduled and the deferred ones.
// One record is used for all of them.
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
		f.q.aside.scheduled.Look(visit(true))
	}
	if more {
		f.q.aside.deferred.Look(visit(false))
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
		if p := e.published; p != nil {
			n := p.publication.Content()
			r.Published = PublishedRecord{PublicationID: n.MessageID, Content: n, SubscriptionARN: *p.subscription, Raw: p.raw, Replayed: p.replayed}
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

// Attempts visits the remembered receive attempts by number.
func (f FrozenQueue) Attempts(yield func(AttemptRecord) bool) {
	f.q.attempts.order.Scan(func(_ uint64, id string) bool {
		a, _ := f.q.attempts.byID.Get(id)
		return yield(AttemptRecord{
			ID: a.id, Number: a.number, ReceivedAt: a.receivedAt, Invalid: a.invalid, Deliveries: a.deliveries,
		})
	})
}

// Sessions visits the sessions that are locked or have a state, by name.
func (f FrozenQueue) Sessions(yield func(SessionRecord) bool) {
	f.q.groups.sessions.Scan(func(r *session.Record) bool { return yield(*r) })
}

// Records are the state of the Broker in a form that can be written to a
// snapshot and read back: what a Frozen state yields, in a fixed order, and
// what a Restorer takes, in the same order. Indexes that follow from the
// records are rebuilt and not part of them.

// BrokerRecord is the state that belongs to no queue.
type BrokerRecord struct {
	Now             Timestamp
	FormatVersion   uint32
	Epoch           uint32 // raised by a restore from backup
	NextIncarnation uint64
	NextMoveTask    uint64
	SequenceFloor   uint64      // numbers at or below it may have been used by deleted queues
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
	ForgotAt     Timestamp // last time an id was forgotten on request, zero: never
	LastSequence uint64    // the highest number handed out
	LastAttempt  uint64    // number of the newest receive attempt
	LastLock     uint64    // number of the newest session lock
	DeadBefore   Timestamp // deduplication records accepted up to here are dead
	// FiredAt and FiredSequence say how far timers have fired: all at or
	// before that pair. A message whose timer lies behind it is pending,
	// also when its time has come already (expiry is bounded per entry).
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
	KeepsAge         bool // moved with its SentAt, which is out of order here
	Scheduled        bool // waits for VisibleAt outside its group
	Timed            bool // DeliveryRecord has a meaning
	// Published is zero unless a topic delivered the message; it then has neither Body
	// nor Attributes.
	Published PublishedRecord
	DeliveryRecord
}

// PublishedRecord is what a message has that a topic delivered.
type PublishedRecord struct {
	PublicationID MessageID // the topic's; zero if no topic delivered the message
	// Content is the publication. A Restorer has to be given it with the first message
	// that refers to it, and may be given the same pointer again.
	Content         *notification.Notification
	SubscriptionARN string
	Raw             bool
	Replayed        bool
}

// DeliveryRecord is the delivery state of a message.
type DeliveryRecord struct {
	VisibleAt Timestamp
	// Deliveries counts hand-outs from this queue, ReceiveCount also those
	// before a dead-letter move.
	Deliveries      uint32
	ReceiveCount    int64
	FirstReceivedAt Timestamp
	ReceivedAt      Timestamp
	AttemptID       string
	AttemptNumber   uint64
	SessionLock     uint64 // of the last hand-out, zero if under none
	TakenBack       uint32 // hand-outs that do not count: their session was released
	Deferred        bool   // handed out by number only
}

// DeduplicationRecord is one remembered deduplication id.
type DeduplicationRecord struct {
	Order      uint64 // Sequence shifted left by one; the bit is set on a message's second key
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
	Destination   string // empty: back to where each message came from
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
