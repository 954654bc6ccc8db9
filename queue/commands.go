package queue

import (
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Command is one change of the replicated state. The set is closed: package
// fsm/codec holds the number and the encoding of each. Commands are plain
// data; they are not changed after they were handed to Apply.
type Command interface {
	// Validate checks everything that needs no state: required members,
	// ranges, lengths, characters, policies. A node calls it, by Prepare,
	// before it proposes the command, so that bad input costs no log entry.
	Validate() *Error
	// QueueName is the name of the queue the command is about, empty for
	// commands about the whole cluster or about a move task.
	QueueName() string
	// apply changes the state, or refuses to and changes nothing but what
	// the clock makes due on the queue. It checks what depends on the state.
	apply(b *Broker) (Result, *Error)
}

// Int is an integer of a request that may be absent, which differs from zero
// in many SQS members.
type Int struct {
	Value int64
	Given bool
}

// Some is a given Int.
func Some(v int64) Int { return Int{Value: v, Given: true} }

// Or is the value, or other if absent.
func (i Int) Or(other int64) int64 {
	if i.Given {
		return i.Value
	}
	return other
}

// Result is the answer of a command that was not refused. The set is closed,
// as that of Command is.
type Result interface{ result() }

// Done is the answer of every command that has nothing to say.
type Done struct{}

func (Done) result() {}

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
	// TopicDeliveriesDeduplicated: Queue knew Count messages of Topic already, by its
	// own deduplication, and dropped them.
	TopicDeliveriesDeduplicated
	// TopicDeliveriesDeadLettered: Count messages of Topic could not be delivered to
	// Queue and went to the dead-letter queue of its subscription.
	TopicDeliveriesDeadLettered
	// TopicDeliveriesLost: Count messages of Topic could not be delivered to Queue, nor
	// to a dead-letter queue.
	TopicDeliveriesLost
	// SessionAvailable: a receive in Session, a locked session of Queue, may now
	// return messages, or finds that the lock has ended.
	SessionAvailable
	// ReplayAdded: the leader should begin to run a replay.
	ReplayAdded
	// DeliveryAdded: the leader should deliver to Subscription over HTTP.
	DeliveryAdded
	// MessageDeleted: a message of Queue was deleted at Age.
	MessageDeleted
)

// Event is a side effect for package cluster to act upon: wake a waiter, start
// a job, count something. Events are not part of the state.
type Event struct {
	Kind  EventKind
	Queue string
	Topic string // of the events of topics
	// Session is that of SessionAvailable.
	Session string
	// Subscription is the number of that of DeliveryAdded.
	Subscription uint64
	Count        int
	Age          logtime.Duration // of the message of MessageDeleted
}

// The types that commands, results and records are made of are named here again,
// because whoever handles a command needs most of them: one import then does.
// Everything else of the packages below is imported from where it is: functions,
// constants, error codes, and types that few callers mention.
type (
	// Error is what a client is refused with.
	Error = refusal.Error
	// Timestamp is a point in log time.
	Timestamp = logtime.Timestamp

	// Attribute is one attribute of a queue as text, by its SQS name.
	Attribute = attributes.Attribute
	// QueueAttributes are the typed attributes of a queue.
	QueueAttributes = attributes.Queue
	// TopicAttributes are the typed attributes of a topic.
	TopicAttributes = attributes.Topic
	// Policies are the policies among the attributes of a command.
	Policies = attributes.Policies
	// Tag is one tag of a queue.
	Tag = attributes.Tag

	// Body holds the text of a message.
	Body = content.Body
	// MessageAttribute is a typed user attribute of a message.
	MessageAttribute = content.MessageAttribute

	// MessageID identifies a message.
	MessageID = identifier.MessageID
	// SequenceNumber orders the messages of one queue.
	SequenceNumber = identifier.SequenceNumber
	// ReceiptHandle names one delivery of one message.
	ReceiptHandle = identifier.ReceiptHandle
)
