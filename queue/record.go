package queue

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
	LastSequence uint64    // the highest number handed out
	LastAttempt  uint64    // number of the newest receive attempt
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
	DeliveryRecord
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
}

// DeduplicationRecord is one remembered deduplication id.
type DeduplicationRecord struct {
	Order      uint64 // Sequence shifted left by one; the bit is set on a message's second key
	Key        [16]byte
	Scope      DeduplicationScope
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
