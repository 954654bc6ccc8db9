package client

import (
	"context"
	"maps"
	"strings"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// CreateQueue creates a queue, or confirms an equal one. A name that ends in .fifo
// needs no attribute FifoQueue.
func (c *Client) CreateQueue(ctx context.Context, name string, attributes, tags map[string]string) error {
	all := make(map[string]string, len(attributes)+1)
	if isFIFO(name) {
		all["FifoQueue"] = "true"
	}
	maps.Copy(all, attributes)
	in := &seriatimpb.CreateQueueRequest{Queue: name, Attributes: all, Tags: tags}
	_, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.CreateQueue, in)
	return err
}

// DeleteQueue deletes a queue with its messages.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	in := &seriatimpb.DeleteQueueRequest{Queue: name}
	_, err := Call(ctx, c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.DeleteQueue, in)
	return err
}

// PurgeQueue deletes all messages of a queue.
func (c *Client) PurgeQueue(ctx context.Context, name string) error {
	in := &seriatimpb.PurgeQueueRequest{Queue: name}
	_, err := Call(ctx, c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.PurgeQueue, in)
	return err
}

// QueueAttributes reads attributes and counters, all if no names are given.
func (c *Client) QueueAttributes(ctx context.Context, name string, names ...string) (map[string]string, error) {
	in := &seriatimpb.GetQueueAttributesRequest{Queue: name, Names: names}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.GetQueueAttributes, in)
	return out.GetAttributes(), err
}

// SetQueueAttributes changes attributes, all or none; the others stay as they are.
func (c *Client) SetQueueAttributes(ctx context.Context, name string, attributes map[string]string) error {
	in := &seriatimpb.SetQueueAttributesRequest{Queue: name, Attributes: attributes}
	_, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.SetQueueAttributes, in)
	return err
}

// isFIFO reports whether a name is that of a FIFO queue or topic.
func isFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// Message is a message to send. Its fields are as in the proto.
type Message = seriatimpb.OutgoingMessage

// Attribute is a message attribute.
type Attribute = seriatimpb.Attribute

// TextAttribute returns an attribute of the type String or Number, perhaps with a suffix such
// as Number.int.
func TextAttribute(dataType, value string) *Attribute {
	return &Attribute{DataType: dataType, Value: &seriatimpb.Attribute_Text{Text: value}}
}

// BinaryAttribute returns an attribute of the type Binary, perhaps with a suffix such as
// Binary.png.
func BinaryAttribute(dataType string, value []byte) *Attribute {
	return &Attribute{DataType: dataType, Value: &seriatimpb.Attribute_Binary{Binary: value}}
}

// Result is the outcome of a message; Failure is nil if it was accepted.
type Result = seriatimpb.SendResult

// Send sends 1 to 10 messages. The error is that of the call, or of the first refused
// message, which comes with all results.
func (c *Client) Send(ctx context.Context, queue string, messages ...*Message) ([]*Result, error) {
	in := &seriatimpb.SendRequest{Queue: queue, Messages: c.withIDs(queue, messages)}
	out, err := Call(ctx, c, isFIFO(queue), seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Send, in)
	if err != nil {
		return nil, err
	}
	return out.GetResults(), firstRefused(out.GetResults())
}

// withIDs returns the messages with deduplication ids if the queue needs them.
func (c *Client) withIDs(queue string, messages []*Message) []*Message {
	if !isFIFO(queue) || c.options.ContentDeduplication {
		return messages
	}
	out := make([]*Message, len(messages))
	for i, m := range messages {
		out[i] = withID(m)
	}
	return out
}

// withID returns the message with a deduplication id, a copy if it had none.
func withID(m *Message) *Message {
	if m.DeduplicationId != nil {
		return m
	}
	id := newID()
	return &Message{
		Body: m.GetBody(), Attributes: m.GetAttributes(), GroupId: m.GroupId, DeduplicationId: &id,
		DelaySeconds: m.DelaySeconds, TraceHeader: m.GetTraceHeader(), PartitionKey: m.GetPartitionKey(), EnqueueAtMs: m.GetEnqueueAtMs(),
	}
}

// Receive receives messages, in a session or in none. For a FIFO queue it draws an attempt id
// if in has none.
func (c *Client) Receive(ctx context.Context, in *seriatimpb.ReceiveRequest) (*seriatimpb.ReceiveResponse, error) {
	request := in
	if in.AttemptId == nil && isFIFO(in.GetQueue()) && !in.GetDeleteOnReceipt() {
		id := newID()
		request = &seriatimpb.ReceiveRequest{
			Queue: in.GetQueue(), MaxMessages: in.MaxMessages, VisibilityTimeoutSeconds: in.VisibilityTimeoutSeconds,
			WaitSeconds: in.WaitSeconds, AttemptId: &id, Session: in.GetSession(),
		}
	}
	out, err := Call(ctx, c, request.AttemptId != nil, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Receive, request)
	return out, err
}

// Delete deletes 1 to 10 messages. The error is that of the call, or of the first message
// that was not deleted.
func (c *Client) Delete(ctx context.Context, queue string, handles ...string) error {
	in := &seriatimpb.DeleteRequest{Queue: queue, ReceiptHandles: handles}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Delete, in)
	if err != nil {
		return err
	}
	return firstFailure(out.GetOutcomes())
}

// ChangeVisibility makes 1 to 10 messages in flight visible after seconds. The error is that
// of the call, or of the first message that was not changed.
func (c *Client) ChangeVisibility(ctx context.Context, queue string, seconds int32, handles ...string) error {
	in := &seriatimpb.ChangeVisibilityRequest{Queue: queue}
	for _, handle := range handles {
		in.Entries = append(in.Entries, &seriatimpb.VisibilityEntry{ReceiptHandle: handle, VisibilityTimeoutSeconds: &seconds})
	}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.ChangeVisibility, in)
	if err != nil {
		return err
	}
	return firstFailure(out.GetOutcomes())
}

func firstFailure(outcomes []*seriatimpb.Outcome) error {
	for _, o := range outcomes {
		if o.GetFailure() != nil {
			return failureOf(o.GetFailure())
		}
	}
	return nil
}
