package queue

import (
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Command is one change of the replicated state: an access.Command, or a command of this package.
// Package fsm/codec holds the number and encoding of each command. A command does not change after
// it is passed to Apply.
type Command interface {
	// Validate checks everything that needs no state: required members, ranges, lengths,
	// characters, policies. Prepare calls it before a node proposes the command, so that bad input
	// writes no log entry.
	Validate() *Error
	// QueueName returns the queue that the command changes, empty for commands about the whole
	// cluster or a move task.
	QueueName() string
}

// applier is a command of this package. Every other Command is an access.Command.
type applier interface {
	// apply changes the state, or refuses after the checks that need state. A refused command
	// changes only the clock and overdue records of the queue.
	apply(b *Broker) (Result, *Error)
}

// Int is an optional integer of a request. Many SQS members distinguish absent from zero.
type Int struct {
	Value int64
	Given bool
}

// Some returns a given Int.
func Some(v int64) Int { return Int{Value: v, Given: true} }

// Or returns the value, or other if it is absent.
func (i Int) Or(other int64) int64 {
	if i.Given {
		return i.Value
	}
	return other
}

// Result is the answer to an accepted command.
type Result interface{ result() }

// Done is the answer to commands without a result.
type Done struct{}

func (Done) result() {}

// EventKind is the kind of an Event.
type EventKind uint8

// Event kinds. The numbers are not stored.
const (
	// MessagesAvailable: a receive on Queue may now return messages.
	MessagesAvailable EventKind = iota + 1
	// QueueDeleted: waiting receives on Queue must end with QueueDoesNotExist.
	QueueDeleted
	// MoveTaskAdded: the leader must run a move task.
	MoveTaskAdded
	// MessagesExpired: Count messages of Queue passed their retention.
	MessagesExpired
	// MessagesDeadLettered: Count messages of Queue moved to its dead-letter queue.
	MessagesDeadLettered
	// TopicDeliveriesDeduplicated: Queue dropped Count messages of Topic as duplicates.
	TopicDeliveriesDeduplicated
	// TopicDeliveriesDeadLettered: Count messages of Topic failed for Queue and went to the
	// subscription's dead-letter queue.
	TopicDeliveriesDeadLettered
	// TopicDeliveriesLost: Count messages of Topic failed for Queue and for a dead-letter queue.
	TopicDeliveriesLost
	// SessionAvailable: a receive in the locked Session of Queue may now return messages, or fail
	// because the lock ended.
	SessionAvailable
	// ReplayAdded: the leader must run a replay.
	ReplayAdded
	// DeliveryAdded: the leader must deliver to Subscription over HTTP.
	DeliveryAdded
	// MessageDeleted: a message of Queue was deleted at Age.
	MessageDeleted
)

// Event is a side effect for package cluster, such as waking a waiting receive or starting a job.
// Events are not part of the state.
type Event struct {
	Kind  EventKind
	Queue string
	Topic string // for events of topics
	// Session is set for SessionAvailable.
	Session string
	// Subscription is the number of the subscription, set for DeliveryAdded.
	Subscription uint64
	Count        int
	Age          logtime.Duration // of the message, set for MessageDeleted
}

// Aliases of the types that commands, results and records consist of, so that most callers need
// only this package.
type (
	// Error is the error that a client receives.
	Error = refusal.Error
	// Timestamp is a point in log time.
	Timestamp = logtime.Timestamp

	// Attribute is one attribute of a queue as text, by its SQS name.
	Attribute = attributes.Attribute
	// QueueAttributes are the typed attributes of a queue.
	QueueAttributes = attributes.Queue
	// TopicAttributes are the typed attributes of a topic.
	TopicAttributes = attributes.Topic
	// Tag is one tag of a queue.
	Tag = attributes.Tag

	// Body holds the text of a message.
	Body = message.Body
	// MessageAttribute is a typed user attribute of a message.
	MessageAttribute = message.MessageAttribute
	// Encoded holds the parts of a message that plain text lacks.
	Encoded = message.Encoded
	// PropertyChange sets or removes one property of a stored message.
	PropertyChange = message.Change

	// MessageID identifies a message.
	MessageID = identifier.MessageID
	// SequenceNumber orders the messages of one queue.
	SequenceNumber = identifier.SequenceNumber
	// ReceiptHandle names one delivery of one message.
	ReceiptHandle = identifier.ReceiptHandle
)
