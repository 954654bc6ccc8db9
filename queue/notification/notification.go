package notification

import (
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/rendition"
)

// Notification is one accepted publish, shared by its deliveries. It never changes.
type Notification struct {
	TopicARN       string
	MessageID      identifier.MessageID      // assigned by the topic; each queue assigns its own
	SequenceNumber identifier.SequenceNumber // assigned by the topic; zero on a standard topic
	Subject        string                    // empty: none; SNS refuses an empty one
	Message        message.Body              // the text for queues, see QueueText
	Timestamp      logtime.Timestamp         // when it was published
	Attributes     []message.MessageAttribute
	Encoded        *message.Encoded // nil for text
	SenderID       string           // publisher
	// Endpoint is the URL at which the publisher reached the server, without a trailing slash.
	Endpoint string
	GroupID  string
	// DeduplicationID is the id as given, or the hash of the content.
	DeduplicationID string
	// PartitionKey is for queues with DeduplicationScope=partitionKey; no envelope shows it.
	PartitionKey string
	// TimeToLive counts from the delivery to each queue, zero: as the queue says.
	TimeToLive logtime.Duration
	// Hops counts the times that the message was forwarded.
	Hops uint8
	// TraceHeader is the AWSTraceHeader, empty if absent.
	TraceHeader string
}

// rendered returns text and attributes of the message for clients of SNS, after changes.
func (n *Notification) rendered(changes []message.Change) (text string, attributes []message.MessageAttribute) {
	content := n.content()
	if content.Encoded = n.Changed(changes); content.Encoded == nil {
		return n.Message.String(), n.Attributes
	}
	return content.Text()
}

// Changed returns Encoded after changes, nil if both are empty.
func (n *Notification) Changed(changes []message.Change) *message.Encoded {
	if len(changes) == 0 {
		return n.Encoded
	}
	var out message.Encoded
	if n.Encoded != nil {
		out = *n.Encoded
	}
	out.Changes = message.MergeChanges(out.Changes, changes)
	return &out
}

func (n *Notification) content() *rendition.Message {
	return &rendition.Message{Body: n.Message.String(), Attributes: n.Attributes, Encoded: n.Encoded}
}

// Payload returns the bytes of the message, as filters and raw HTTP deliveries read them.
func (n *Notification) Payload() string {
	if n.Encoded == nil {
		return n.Message.String()
	}
	payload, _ := n.content().Payload()
	return payload
}

// Properties returns message attributes and AMQP application properties, as filters read them.
func (n *Notification) Properties() []message.MessageAttribute {
	if n.Encoded == nil {
		return n.Attributes
	}
	return n.content().All()
}

// Delivery is the part of an envelope that differs between subscriptions.
type Delivery struct {
	SubscriptionARN string
	// Changes are the changes of a rule to the properties.
	Changes []message.Change
	// Replayed marks a delivery from the archive. The rest of the envelope equals the first
	// delivery (SNS, message replay).
	Replayed bool
}
