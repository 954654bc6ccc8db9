package notification

import (
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Notification is one accepted publish, which all its deliveries share. It does not
// change once it is made.
type Notification struct {
	TopicARN       string
	MessageID      identifier.MessageID      // the topic's; each queue gives its own
	SequenceNumber identifier.SequenceNumber // the topic's; zero on a standard topic
	Subject        string                    // empty: not given, since SNS refuses an empty one
	Message        content.Body              // what queues receive, see QueueText
	Timestamp      logtime.Timestamp         // when the publish was accepted
	Attributes     []content.MessageAttribute
	SenderID       string // who published
	// Endpoint is the URL under which the publisher reached the server,
	// without a slash at its end. SNS has its own there.
	Endpoint string
	GroupID  string
	// DeduplicationID is the effective one: as given, or the hash of the
	// content. FIFO queues are told it in either case (SNS).
	DeduplicationID string
	// TraceHeader is the AWSTraceHeader that queues receive, empty if absent.
	TraceHeader string
}

// Delivery is what the envelope of one subscription has of its own.
type Delivery struct {
	SubscriptionARN string
	// Replayed says that the delivery comes from the archive of the topic: all
	// else in its envelope is as it was first (SNS, message replay).
	Replayed bool
}
