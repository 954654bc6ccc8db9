package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

const traceAttribute = "AWSTraceHeader"

// message holds the members that SendMessage and an entry of SendMessageBatch share.
type message struct {
	Body             string
	DelaySeconds     awswire.Int
	Attributes       []attributeValue
	SystemAttributes []attributeValue
	DeduplicationID  awswire.Text
	GroupID          awswire.Text
}

// messageMembers returns the members of a structure with a message.
func messageMembers[T any](at func(*T) *message) []awswire.Member[T] {
	return []awswire.Member[T]{
		awswire.String("MessageBody", func(v *T) *string { return &at(v).Body }),
		awswire.Integer("DelaySeconds", func(v *T) *awswire.Int { return &at(v).DelaySeconds }),
		awswire.StructureMap("MessageAttributes", "MessageAttribute", attributeValueSchema, attributeName,
			func(v *T) *[]attributeValue { return &at(v).Attributes }),
		awswire.StructureMap("MessageSystemAttributes", "MessageSystemAttribute", attributeValueSchema, attributeName,
			func(v *T) *[]attributeValue { return &at(v).SystemAttributes }),
		awswire.OptionalString("MessageDeduplicationId", func(v *T) *awswire.Text { return &at(v).DeduplicationID }),
		awswire.OptionalString("MessageGroupId", func(v *T) *awswire.Text { return &at(v).GroupID }),
	}
}

type sendMessageInput struct {
	onQueue
	message
}

var sendMessageInputSchema = awswire.Structure(append([]awswire.Member[sendMessageInput]{
	awswire.OptionalString("QueueUrl", func(v *sendMessageInput) *awswire.Text { return &v.QueueURL }),
}, messageMembers(func(v *sendMessageInput) *message { return &v.message })...)...)

// sent holds the members that the outputs of SendMessage and of an entry of SendMessageBatch share.
type sent struct {
	MessageID              string
	BodyDigest             string
	AttributesDigest       string
	SystemAttributesDigest string
	SequenceNumber         string
}

func sentMembers[T any](at func(*T) *sent) []awswire.Member[T] {
	return []awswire.Member[T]{
		awswire.String("MessageId", func(v *T) *string { return &at(v).MessageID }),
		awswire.String("MD5OfMessageBody", func(v *T) *string { return &at(v).BodyDigest }),
		awswire.String("MD5OfMessageAttributes", func(v *T) *string { return &at(v).AttributesDigest }),
		awswire.String("MD5OfMessageSystemAttributes", func(v *T) *string { return &at(v).SystemAttributesDigest }),
		awswire.String("SequenceNumber", func(v *T) *string { return &at(v).SequenceNumber }),
	}
}

var sendMessageOutputSchema = awswire.Structure(sentMembers(func(v *sent) *sent { return v })...)

func (s *Service) sendMessage(ctx context.Context, c *aws.Call, in *sendMessageInput) (*sent, error) {
	if in.Body == "" {
		return nil, refusal.MissingParameter("MessageBody")
	}
	out := &sent{}
	entry, refused := out.prepare(c, &in.message)
	if refused != nil {
		return nil, refuse(ctx, c, refused)
	}
	cmd := &queue.SendMessages{Queue: c.Resource.Name, SenderID: c.SenderID(), Entries: []queue.SendEntry{entry}}
	c.Record.Trace.Sent(cmd.Entries)
	done, err := service.Submit[queue.MessagesSent](ctx, &c.Call, cmd)
	if err != nil {
		return nil, err
	}
	if done.Entries[0].Err != nil {
		return nil, done.Entries[0].Err
	}
	out.accept(done.Entries[0])
	if done.Entries[0].Duplicate {
		c.Duplicate = "true"
	}
	return out, nil
}

// prepare converts a message of a request, and computes the digests of the answer. Also for a
// duplicate they are over this request, because SDKs compare them with the sent message.
func (o *sent) prepare(c *aws.Call, m *message) (queue.SendEntry, *queue.Error) {
	attributes, refused := domainAttributes(m.Attributes)
	if refused != nil {
		return queue.SendEntry{}, refused
	}
	trace, systemDigest, refused := traceHeader(c, m.SystemAttributes)
	if refused != nil {
		return queue.SendEntry{}, refused
	}
	o.BodyDigest = bodyDigest(m.Body)
	o.AttributesDigest = attributesDigest(attributes)
	o.SystemAttributesDigest = systemDigest
	return queue.SendEntry{
		Body: m.Body, Attributes: attributes, TraceHeader: trace, DelaySeconds: queue.Int(m.DelaySeconds),
		GroupID: m.GroupID.Value, GroupIDGiven: m.GroupID.Given,
		DeduplicationID: m.DeduplicationID.Value, DeduplicationIDGiven: m.DeduplicationID.Given,
	}, nil
}

func (o *sent) accept(e queue.SentEntry) {
	o.MessageID = e.MessageID.String()
	if e.Sequence != 0 {
		o.SequenceNumber = e.Sequence.String()
	}
}

// traceHeader returns AWSTraceHeader, the only system attribute that can be sent, or else the HTTP
// header X-Amzn-Trace-Id, which has no digest.
func traceHeader(c *aws.Call, values []attributeValue) (trace, digest string, refused *queue.Error) {
	attributes, refused := domainAttributes(values)
	if refused != nil {
		return "", "", refused
	}
	for _, a := range attributes {
		if a.Name != traceAttribute {
			return "", "", refusal.InvalidParameter("Message system attribute name '" + a.Name + "' is invalid.")
		}
		if a.DataType != "String" {
			return "", "", refusal.InvalidParameter("The type of message (system) attribute '" + a.Name +
				"' is invalid. You must use only the following supported type prefixes: String.")
		}
		if a.Value == "" {
			return "", "", refusal.InvalidParameter("Message (system) attribute '" + a.Name +
				"' must contain a non-empty value of type 'String'.")
		}
		trace = a.Value
	}
	if len(attributes) == 0 {
		return c.TraceHeader(), "", nil
	}
	return trace, attributesDigest(attributes), nil
}
