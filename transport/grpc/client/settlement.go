package client

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// settlement makes a call of the service Messages that ends deliveries, each on its own.
func settlement[In, Out any](ctx context.Context, c *Client, in *In,
	method func(seriatimpb.MessagesClient, context.Context, *In, ...grpc.CallOption) (*Out, error),
	outcomes func(*Out) []*seriatimpb.Outcome,
) error {
	out, repeated, err := call(ctx, c, true, seriatimpb.NewMessagesClient, method, in)
	return settlementError(outcomes(out), repeated, err)
}

// settlementError returns the error of a call, or a *BatchError. A repeated call may find a lock lost
// because its first attempt succeeded: then the outcome is unknown.
func settlementError(outcomes []*seriatimpb.Outcome, repeated bool, err error) error {
	if err == nil {
		err = batchError(outcomes)
	}
	var failure *FailureError
	if repeated && errors.As(err, &failure) && (failure.Code == codes.Aborted || failure.Code == codes.NotFound) {
		return &FailureError{
			Code: codes.Unavailable, Reason: reasonOutcomeUnknown,
			Message: "The call was made again, and its first attempt may have succeeded: " + failure.Message,
		}
	}
	return err
}

var settled = (*seriatimpb.SettleResponse).GetOutcomes

// WithoutSession returns a Session without a lock. Use it only to end the deliveries of messages that
// were received outside of sessions, and to receive deferred messages.
func (c *Client) WithoutSession(queue string) *Session { return &Session{client: c, queue: queue} }

// Complete deletes 1 to 10 messages that were received outside of sessions and are still
// locked.
func (c *Client) Complete(ctx context.Context, queue string, handles ...string) error {
	return c.WithoutSession(queue).Complete(ctx, handles...)
}

// Complete deletes 1 to 10 messages.
func (s *Session) Complete(ctx context.Context, handles ...string) error {
	in := &seriatimpb.CompleteRequest{Queue: s.queue, Session: s.ref, ReceiptHandles: handles}
	return settlement(ctx, s.client, in, seriatimpb.MessagesClient.Complete, settled)
}

// Abandon returns 1 to 10 messages to the queue, which delivers them again at once.
func (c *Client) Abandon(ctx context.Context, queue string, handles ...string) error {
	return c.WithoutSession(queue).Abandon(ctx, handles...)
}

// Abandon returns 1 to 10 messages: the next Receive returns them again.
func (s *Session) Abandon(ctx context.Context, handles ...string) error {
	in := &seriatimpb.AbandonRequest{Queue: s.queue, Session: s.ref, ReceiptHandles: handles}
	return settlement(ctx, s.client, in, seriatimpb.MessagesClient.Abandon, settled)
}

// Defer keeps 1 to 10 messages for ReceiveDeferred, which takes their sequence numbers.
func (c *Client) Defer(ctx context.Context, queue string, handles ...string) error {
	return c.WithoutSession(queue).Defer(ctx, handles...)
}

// Defer keeps 1 to 10 messages for ReceiveDeferred, which takes their sequence numbers.
func (s *Session) Defer(ctx context.Context, handles ...string) error {
	in := &seriatimpb.DeferRequest{Queue: s.queue, Session: s.ref, ReceiptHandles: handles}
	return settlement(ctx, s.client, in, seriatimpb.MessagesClient.Defer, settled)
}

// DeadLetter moves a message to the dead-letter queue, with a reason and a description.
func (c *Client) DeadLetter(ctx context.Context, queue, handle, reason, description string) error {
	return c.WithoutSession(queue).DeadLetter(ctx, handle, reason, description)
}

// DeadLetter moves a message to the dead-letter queue, with a reason and a description.
func (s *Session) DeadLetter(ctx context.Context, handle, reason, description string) error {
	entry := &seriatimpb.DeadLetterEntry{ReceiptHandle: handle, Reason: reason, Description: description}
	in := &seriatimpb.DeadLetterRequest{Queue: s.queue, Session: s.ref, Entries: []*seriatimpb.DeadLetterEntry{entry}}
	return settlement(ctx, s.client, in, seriatimpb.MessagesClient.DeadLetter, settled)
}

// ReceiveDeferred receives 1 to 10 deferred messages by their sequence numbers: all, or
// none. The call is made once, because a second attempt would find messages of the first
// locked.
func (c *Client) ReceiveDeferred(ctx context.Context, queue string, numbers ...uint64) ([]*seriatimpb.Message, error) {
	return c.WithoutSession(queue).ReceiveDeferred(ctx, numbers...)
}

// ReceiveDeferred receives 1 to 10 deferred messages of the session by their sequence
// numbers.
func (s *Session) ReceiveDeferred(ctx context.Context, numbers ...uint64) ([]*seriatimpb.Message, error) {
	in := &seriatimpb.ReceiveDeferredRequest{Queue: s.queue, Session: s.ref, SequenceNumbers: numbers}
	out, err := Call(ctx, s.client, false, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.ReceiveDeferred, in)
	return out.GetMessages(), err
}

// ReceiveAndDelete receives up to 10 messages and deletes them at once, waiting up to 20
// seconds for the first. If the answer is lost, its messages are lost, too.
func (c *Client) ReceiveAndDelete(ctx context.Context, queue string, limit, waitSeconds int32) ([]*seriatimpb.Message, error) {
	out, err := c.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: queue, MaxMessages: &limit, WaitSeconds: &waitSeconds,
		DeleteOnReceipt: true})
	return out.GetMessages(), err
}
