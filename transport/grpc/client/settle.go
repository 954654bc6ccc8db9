package client

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Settlement under locks. A settlement that was made again and then finds its lock lost
// may have met its own first attempt: its outcome is unknown.

// settle makes a call whose entries are settled each for itself. The error is that of the
// call, or of the first entry that failed.
func (c *Client) settle(ctx context.Context, call func(context.Context, seriatimpb.MessagesClient, ...grpc.CallOption) ([]*seriatimpb.Outcome, error)) error {
	var outcomes []*seriatimpb.Outcome
	attempts := 0
	err := c.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) (err error) {
		attempts++
		outcomes, err = call(ctx, seriatimpb.NewMessagesClient(on), o...)
		return err
	})
	if err == nil {
		err = firstFailure(outcomes)
	}
	var failure *FailureError
	if attempts > 1 && errors.As(err, &failure) && (failure.Code == codes.Aborted || failure.Code == codes.NotFound) {
		return &FailureError{
			Code: codes.Unavailable, Reason: reasonOutcomeUnknown,
			Message: "The call was made again, and its first attempt may have succeeded: " + failure.Message,
		}
	}
	return err
}

// Complete deletes 1 to 10 messages that were received outside of sessions and are still
// locked.
func (c *Client) Complete(ctx context.Context, queue string, handles ...string) error {
	return c.complete(ctx, queue, nil, handles)
}

func (c *Client) complete(ctx context.Context, queue string, session *seriatimpb.SessionRef, handles []string) error {
	return c.settle(ctx, func(ctx context.Context, on seriatimpb.MessagesClient, o ...grpc.CallOption) ([]*seriatimpb.Outcome, error) {
		out, err := on.Complete(ctx, &seriatimpb.CompleteRequest{Queue: queue, Session: session, ReceiptHandles: handles}, o...)
		return out.GetOutcomes(), err
	})
}

// Abandon gives 1 to 10 messages back, which are delivered again at once.
func (c *Client) Abandon(ctx context.Context, queue string, handles ...string) error {
	return c.abandon(ctx, queue, nil, handles)
}

func (c *Client) abandon(ctx context.Context, queue string, session *seriatimpb.SessionRef, handles []string) error {
	return c.settle(ctx, func(ctx context.Context, on seriatimpb.MessagesClient, o ...grpc.CallOption) ([]*seriatimpb.Outcome, error) {
		out, err := on.Abandon(ctx, &seriatimpb.AbandonRequest{Queue: queue, Session: session, ReceiptHandles: handles}, o...)
		return out.GetOutcomes(), err
	})
}

// Defer sets 1 to 10 messages aside: ReceiveDeferred hands them out by their numbers.
func (c *Client) Defer(ctx context.Context, queue string, handles ...string) error {
	return c.deferMessages(ctx, queue, nil, handles)
}

func (c *Client) deferMessages(ctx context.Context, queue string, session *seriatimpb.SessionRef, handles []string) error {
	return c.settle(ctx, func(ctx context.Context, on seriatimpb.MessagesClient, o ...grpc.CallOption) ([]*seriatimpb.Outcome, error) {
		out, err := on.Defer(ctx, &seriatimpb.DeferRequest{Queue: queue, Session: session, ReceiptHandles: handles}, o...)
		return out.GetOutcomes(), err
	})
}

// DeadLetter moves a message to the dead-letter queue, and says there why.
func (c *Client) DeadLetter(ctx context.Context, queue, handle, reason, description string) error {
	return c.deadLetter(ctx, queue, nil, &seriatimpb.DeadLetterEntry{ReceiptHandle: handle, Reason: reason, Description: description})
}

func (c *Client) deadLetter(ctx context.Context, queue string, session *seriatimpb.SessionRef, entry *seriatimpb.DeadLetterEntry) error {
	return c.settle(ctx, func(ctx context.Context, on seriatimpb.MessagesClient, o ...grpc.CallOption) ([]*seriatimpb.Outcome, error) {
		out, err := on.DeadLetter(ctx, &seriatimpb.DeadLetterRequest{Queue: queue, Session: session, Entries: []*seriatimpb.DeadLetterEntry{entry}}, o...)
		return out.GetOutcomes(), err
	})
}

// ReceiveDeferred receives 1 to 10 deferred messages by their numbers: all, or none. It is
// made once, because a second attempt would find messages of the first locked.
func (c *Client) ReceiveDeferred(ctx context.Context, queue string, numbers ...uint64) ([]*seriatimpb.Message, error) {
	return c.receiveDeferred(ctx, queue, nil, numbers)
}

func (c *Client) receiveDeferred(ctx context.Context, queue string, session *seriatimpb.SessionRef, numbers []uint64) ([]*seriatimpb.Message, error) {
	var out *seriatimpb.ReceiveDeferredResponse
	err := c.CallOn(ctx, false, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) (err error) {
		out, err = seriatimpb.NewMessagesClient(on).ReceiveDeferred(ctx, &seriatimpb.ReceiveDeferredRequest{Queue: queue, Session: session, SequenceNumbers: numbers}, o...)
		return err
	})
	return out.GetMessages(), err
}

// ReceiveAndDelete receives up to 10 messages, waiting up to some seconds for the first,
// and deletes them as they are handed out: an answer that is lost is lost with its
// messages.
func (c *Client) ReceiveAndDelete(ctx context.Context, queue string, limit, waitSeconds int32) ([]*seriatimpb.Message, error) {
	out, err := c.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: queue, MaxMessages: &limit, WaitSeconds: &waitSeconds, DeleteOnReceipt: true})
	return out.GetMessages(), err
}
