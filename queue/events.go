package queue

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
