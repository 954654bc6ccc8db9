package queue

import (
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

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
