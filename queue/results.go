package queue

// Result is the answer of a command that was not refused. The set is closed,
// as that of Command is.
type Result interface{ result() }

// Done is the answer of every command that has nothing to say.
type Done struct{}

// QueueCreated answers CreateQueue.
type QueueCreated struct{ Queue string }

// MessagesSent answers SendMessages, one entry each in request order.
type MessagesSent struct{ Entries []SentEntry }

// SentEntry is the outcome of one SendEntry.
type SentEntry struct {
	Err       *Error // set if this entry was refused, the rest is then empty
	MessageID MessageID
	Sequence  SequenceNumber // zero on standard queues
	// Duplicate says that nothing was stored: id and number are those of
	// the first message with this deduplication id.
	Duplicate bool
}

// MessagesReceived answers ReceiveMessages.
type MessagesReceived struct {
	Messages []ReceivedMessage
	// Replayed says that the messages were handed out before under the
	// same ReceiveRequestAttemptId.
	Replayed bool
}

// ReceivedMessage is one delivery.
type ReceivedMessage struct {
	MessageID        MessageID
	Handle           ReceiptHandle
	Body             Body
	Attributes       []MessageAttribute
	SenderID         string
	GroupID          string
	DeduplicationID  string
	TraceHeader      string
	DeadLetterSource string         // name of the queue it was dead-lettered from
	Sequence         SequenceNumber // zero on standard queues
	SentAt           Timestamp
	FirstReceivedAt  Timestamp
	ReceiveCount     int64
}

// EntriesDone answers DeleteMessages and ChangeMessageVisibility: one error or
// nil per entry.
type EntriesDone struct{ Errs []*Error }

// MoveTaskStarted answers StartMoveTask.
type MoveTaskStarted struct{ TaskID string }

// MoveTaskCancelled answers CancelMoveTask.
type MoveTaskCancelled struct{ Moved int64 }

// MessagesMoved answers MoveMessages.
type MessagesMoved struct {
	Moved   int64 // by this step
	Running bool  // the task wants another step
}

func (Done) result()              {}
func (QueueCreated) result()      {}
func (MessagesSent) result()      {}
func (MessagesReceived) result()  {}
func (EntriesDone) result()       {}
func (MoveTaskStarted) result()   {}
func (MoveTaskCancelled) result() {}
func (MessagesMoved) result()     {}

// EventKind says what happened.
type EventKind uint8

// Event kinds. The numbers are not stored anywhere.
const (
	// MessagesAvailable: a receive on Queue may now return messages.
	MessagesAvailable EventKind = iota + 1
	// QueueDeleted: waiting receives on Queue end with QueueDoesNotExist.
	QueueDeleted
	// MoveTaskAdded: the leader should begin to run a move task.
	MoveTaskAdded
	// MessagesExpired: Count messages of Queue passed their retention.
	MessagesExpired
	// MessagesDeadLettered: Count messages of Queue moved to its DLQ.
	MessagesDeadLettered
)

// Event is a side effect for package cluster to act upon: wake a waiter, start
// a job, count something. Events are not part of the state.
type Event struct {
	Kind  EventKind
	Queue string
	Count int
}
