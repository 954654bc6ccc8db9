package client

import (
	"context"
	"maps"
	"strings"

	"google.golang.org/grpc"

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
	return c.Call(ctx, true, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) error {
		_, err := q.CreateQueue(ctx, in, o...)
		return err
	})
}

// DeleteQueue deletes a queue with all it holds.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	return c.Call(ctx, false, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) error {
		_, err := q.DeleteQueue(ctx, &seriatimpb.DeleteQueueRequest{Queue: name}, o...)
		return err
	})
}

// PurgeQueue deletes all messages of a queue.
func (c *Client) PurgeQueue(ctx context.Context, name string) error {
	return c.Call(ctx, false, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) error {
		_, err := q.PurgeQueue(ctx, &seriatimpb.PurgeQueueRequest{Queue: name}, o...)
		return err
	})
}

// QueueAttributes reads attributes and counters, all if no names are given.
func (c *Client) QueueAttributes(ctx context.Context, name string, names ...string) (map[string]string, error) {
	var out *seriatimpb.GetQueueAttributesResponse
	err := c.Call(ctx, true, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) (err error) {
		out, err = q.GetQueueAttributes(ctx, &seriatimpb.GetQueueAttributesRequest{Queue: name, Names: names}, o...)
		return err
	})
	return out.GetAttributes(), err
}

// SetQueueAttributes changes attributes, all or none; the others stay as they are.
func (c *Client) SetQueueAttributes(ctx context.Context, name string, attributes map[string]string) error {
	in := &seriatimpb.SetQueueAttributesRequest{Queue: name, Attributes: attributes}
	return c.Call(ctx, true, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) error {
		_, err := q.SetQueueAttributes(ctx, in, o...)
		return err
	})
}

// isFIFO reports whether a queue of this name is a FIFO queue.
func isFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// Message is a message to send. Its fields are as in the proto.
type Message = seriatimpb.OutgoingMessage

// Attribute is a value that travels with a message.
type Attribute = seriatimpb.Attribute

// TextAttribute is an attribute of the type String or Number, perhaps with a suffix as in
// Number.int.
func TextAttribute(dataType, value string) *Attribute {
	return &Attribute{DataType: dataType, Value: &seriatimpb.Attribute_Text{Text: value}}
}

// BinaryAttribute is an attribute of the type Binary, perhaps with a suffix as in
// Binary.png.
func BinaryAttribute(dataType string, value []byte) *Attribute {
	return &Attribute{DataType: dataType, Value: &seriatimpb.Attribute_Binary{Binary: value}}
}

// Result is the outcome of a message; Failure is nil if it was accepted.
type Result = seriatimpb.SendResult

// Send sends 1 to 10 messages. The error is that of the call, or of the first
// message that was refused; in the second case there are results, too.
func (c *Client) Send(ctx context.Context, queue string, messages ...*Message) ([]*Result, error) {
	in := &seriatimpb.SendRequest{Queue: queue, Messages: c.withIDs(queue, messages)}
	var out *seriatimpb.SendResponse
	err := c.Call(ctx, isFIFO(queue), func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) (err error) {
		out, err = q.Send(ctx, in, o...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out.GetResults(), firstRefused(out.GetResults())
}

// withIDs are messages with deduplication ids where the queue needs them.
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

// withID is a message with a deduplication id; the caller's stays as it is.
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

// Receive receives messages, in a session or in none, under an attempt id that it makes
// for a FIFO queue if in has none.
func (c *Client) Receive(ctx context.Context, in *seriatimpb.ReceiveRequest) (*seriatimpb.ReceiveResponse, error) {
	request := in
	if in.AttemptId == nil && isFIFO(in.GetQueue()) && !in.GetDeleteOnReceipt() {
		id := newID()
		request = &seriatimpb.ReceiveRequest{
			Queue: in.GetQueue(), MaxMessages: in.MaxMessages, VisibilityTimeoutSeconds: in.VisibilityTimeoutSeconds,
			WaitSeconds: in.WaitSeconds, AttemptId: &id, Session: in.GetSession(),
		}
	}
	var out *seriatimpb.ReceiveResponse
	err := c.Call(ctx, request.AttemptId != nil, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) (err error) {
		out, err = q.Receive(ctx, request, o...)
		return err
	})
	return out, err
}

// Delete deletes 1 to 10 messages. The error is that of the call, or of the first
// message that could not be deleted.
func (c *Client) Delete(ctx context.Context, queue string, handles ...string) error {
	var out *seriatimpb.DeleteResponse
	err := c.Call(ctx, true, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) (err error) {
		out, err = q.Delete(ctx, &seriatimpb.DeleteRequest{Queue: queue, ReceiptHandles: handles}, o...)
		return err
	})
	if err != nil {
		return err
	}
	return firstFailure(out.GetOutcomes())
}

// ChangeVisibility makes 1 to 10 deliveries visible after seconds. The error is
// that of the call, or of the first delivery that could not be changed.
func (c *Client) ChangeVisibility(ctx context.Context, queue string, seconds int32, handles ...string) error {
	in := &seriatimpb.ChangeVisibilityRequest{Queue: queue}
	for _, handle := range handles {
		in.Entries = append(in.Entries, &seriatimpb.VisibilityEntry{ReceiptHandle: handle, VisibilityTimeoutSeconds: &seconds})
	}
	var out *seriatimpb.ChangeVisibilityResponse
	err := c.Call(ctx, true, func(ctx context.Context, q seriatimpb.QueuesClient, o ...grpc.CallOption) (err error) {
		out, err = q.ChangeVisibility(ctx, in, o...)
		return err
	})
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
