package notification

import (
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
)

// Notification is one accepted publish, shared by its deliveries. It never changes.
type Notification struct {
	TopicARN       string
	MessageID      identifier.MessageID      // assigned by the topic; each queue assigns its own
	SequenceNumber identifier.SequenceNumber // assigned by the topic; zero on a standard topic
	Subject        string                    // empty: none; SNS refuses an empty one
	Message        message.Body              // the text for queues, see QueueText
	Timestamp      logtime.Timestamp         // when the publish was accepted
	Attributes     []message.MessageAttribute
	SenderID       string // publisher
	// Endpoint is the URL at which the publisher reached the server, without a trailing slash.
	Endpoint string
	GroupID  string
	// DeduplicationID is the id as given, or the hash of the content.
	DeduplicationID string
	// TraceHeader is the AWSTraceHeader, empty if absent.
	TraceHeader string
}

// Delivery is the part of an envelope that differs between subscriptions.
type Delivery struct {
	SubscriptionARN string
	// Replayed marks a delivery from the archive. The rest of the envelope equals the first
	// delivery (SNS, message replay).
	Replayed bool
}
