package client

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// CreateQueue creates a queue, or confirms an equal one, and returns its ARN. A name that ends in
// .fifo needs no attribute FifoQueue.
func (c *Client) CreateQueue(ctx context.Context, name string, attributes, tags map[string]string) (arn string, err error) {
	all := make(map[string]string, len(attributes)+1)
	if isFIFO(name) {
		all["FifoQueue"] = "true"
	}
	maps.Copy(all, attributes)
	in := &seriatimpb.CreateQueueRequest{Queue: name, Attributes: all, Tags: tags}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.CreateQueue, in)
	return out.GetQueueArn(), err
}

// Queues lists the queues whose names begin with a prefix, and returns the number of their account.
func (c *Client) Queues(ctx context.Context, prefix string) (names []string, account string, err error) {
	names, err = collect(func(token string) ([]string, string, error) {
		in := &seriatimpb.ListQueuesRequest{Prefix: prefix, PageToken: token}
		out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.ListQueues, in)
		account = out.GetAccount()
		return out.GetQueues(), out.GetNextPageToken(), err
	})
	return names, account, err
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

// QueueTags lists the tags of a queue.
func (c *Client) QueueTags(ctx context.Context, name string) (map[string]string, error) {
	in := &seriatimpb.ListQueueTagsRequest{Queue: name}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.ListQueueTags, in)
	return out.GetTags(), err
}

// TagQueue adds tags to a queue, or overwrites them.
func (c *Client) TagQueue(ctx context.Context, name string, tags map[string]string) error {
	in := &seriatimpb.TagQueueRequest{Queue: name, Tags: tags}
	_, err := Call(ctx, c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.TagQueue, in)
	return err
}

// UntagQueue removes tags from a queue. Unknown keys are no error.
func (c *Client) UntagQueue(ctx context.Context, name string, keys ...string) error {
	in := &seriatimpb.UntagQueueRequest{Queue: name, Keys: keys}
	_, err := Call(ctx, c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.UntagQueue, in)
	return err
}

// MoveTask moves messages out of a dead-letter queue. Its fields are as in the proto.
type MoveTask = seriatimpb.MoveTask

// StartMoveTask starts to move the messages of a dead-letter queue to another queue, or to the
// queues they came from if destination is empty. perSecond limits the rate; nil: no limit.
func (c *Client) StartMoveTask(ctx context.Context, source, destination string, perSecond *int32) (id string, err error) {
	in := &seriatimpb.StartMoveTaskRequest{Source: source, Destination: destination, MessagesPerSecondMax: perSecond}
	out, err := Call(ctx, c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.StartMoveTask, in)
	return out.GetTaskId(), err
}

// MoveTasks lists up to ten move tasks of a dead-letter queue, the newest first.
func (c *Client) MoveTasks(ctx context.Context, source string) ([]*MoveTask, error) {
	in := &seriatimpb.ListMoveTasksRequest{Source: source, MaxResults: 10}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.ListMoveTasks, in)
	return out.GetTasks(), err
}

// CancelMoveTask stops a running move task, and returns how many messages it moved.
func (c *Client) CancelMoveTask(ctx context.Context, source, id string) (moved int64, err error) {
	in := &seriatimpb.CancelMoveTaskRequest{Source: source, TaskId: id}
	out, err := Call(ctx, c, false, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.CancelMoveTask, in)
	return out.GetMoved(), err
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
// message, which comes with all results. If an earlier attempt of the call may have stored the
// messages, the results do not say whether they are duplicates.
func (c *Client) Send(ctx context.Context, queue string, messages ...*Message) ([]*Result, error) {
	in := &seriatimpb.SendRequest{Queue: queue, Messages: c.withIDs(queue, messages)}
	identified := !slices.ContainsFunc(in.GetMessages(), func(m *Message) bool { return m.DeduplicationId == nil })
	out, repeated, err := call(ctx, c, isFIFO(queue) && identified, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Send, in)
	return completed(out.GetResults(), repeated, err)
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
	out := like(m)
	out.DeduplicationId, out.DelaySeconds, out.EnqueueAtMs = new(newID()), m.DelaySeconds, m.GetEnqueueAtMs()
	return out
}

// ReceiveRequest names a queue to receive from. Its fields are as in the proto.
type ReceiveRequest = seriatimpb.ReceiveRequest

// Receive receives messages, in a session or in none. For a FIFO queue it draws an attempt id
// if in has none.
func (c *Client) Receive(ctx context.Context, in *ReceiveRequest) (*seriatimpb.ReceiveResponse, error) {
	request := in
	if in.AttemptId == nil && isFIFO(in.GetQueue()) && !in.GetDeleteOnReceipt() {
		id := newID()
		request = &ReceiveRequest{
			Queue: in.GetQueue(), MaxMessages: in.MaxMessages, VisibilityTimeoutSeconds: in.VisibilityTimeoutSeconds,
			WaitSeconds: in.WaitSeconds, AttemptId: &id, Session: in.GetSession(),
		}
	}
	out, err := Call(ctx, c, request.AttemptId != nil, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Receive, request)
	return out, err
}

// Delete deletes 1 to 10 messages. The error is that of the call, or a *BatchError.
func (c *Client) Delete(ctx context.Context, queue string, handles ...string) error {
	in := &seriatimpb.DeleteRequest{Queue: queue, ReceiptHandles: handles}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.Delete, in)
	if err != nil {
		return err
	}
	return batchError(out.GetOutcomes())
}

// ChangeVisibility makes 1 to 10 messages in flight visible after seconds. The error is that of
// the call, or a *BatchError.
func (c *Client) ChangeVisibility(ctx context.Context, queue string, seconds int32, handles ...string) error {
	in := &seriatimpb.ChangeVisibilityRequest{Queue: queue}
	for _, handle := range handles {
		in.Entries = append(in.Entries, &seriatimpb.VisibilityEntry{ReceiptHandle: handle, VisibilityTimeoutSeconds: &seconds})
	}
	out, err := Call(ctx, c, true, seriatimpb.NewQueuesClient, seriatimpb.QueuesClient.ChangeVisibility, in)
	if err != nil {
		return err
	}
	return batchError(out.GetOutcomes())
}
