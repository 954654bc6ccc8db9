package client

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Schedule sends 1 to 10 messages that the queue delivers from a time on. Pass the sequence
// numbers of the results to CancelScheduled. The error is that of Send.
func (c *Client) Schedule(ctx context.Context, queue string, at time.Time, messages ...*Message) ([]*Result, error) {
	scheduled := make([]*Message, len(messages))
	for i, m := range messages {
		if m.DeduplicationId == nil && !c.options.ContentDeduplication {
			m = withID(m)
		}
		scheduled[i] = like(m)
		scheduled[i].EnqueueAtMs = at.UnixMilli()
	}
	in := &seriatimpb.ScheduleMessagesRequest{Queue: queue, Messages: scheduled}
	out, repeated, err := call(ctx, c, true, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.ScheduleMessages, in)
	return completed(out.GetResults(), repeated, err)
}

// completed returns the results of a call, and the error of the first refused message. The
// duplicate of a repeated call may be its own first attempt.
func completed(results []*Result, repeated bool, err error) ([]*Result, error) {
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if repeated {
			r.Duplicate = nil
		}
		if err == nil {
			err = failureOf(r.GetFailure())
		}
	}
	return results, err
}

// CancelScheduled deletes 1 to 10 scheduled messages by their sequence numbers. With forget
// their deduplication ids can be sent again at once. The error is that of the call, or a *BatchError:
// a message without a failure was cancelled, another was enqueued or cancelled before.
func (c *Client) CancelScheduled(ctx context.Context, queue string, forget bool, numbers ...uint64) error {
	in := &seriatimpb.CancelScheduledRequest{Queue: queue, SequenceNumbers: numbers, ForgetDeduplicationId: forget}
	return settlement(ctx, c, in, seriatimpb.MessagesClient.CancelScheduled, (*seriatimpb.CancelScheduledResponse).GetOutcomes)
}

// SessionRef names a session and the token of its lock. Its fields are as in the proto.
type SessionRef = seriatimpb.SessionRef

// PeekedMessage is a stored message with its state. Its fields are as in the proto.
type PeekedMessage = seriatimpb.PeekedMessage

// MessageState is the state of a stored message.
type MessageState = seriatimpb.MessageState

// The states of stored messages.
const (
	MessageVisible   = seriatimpb.MessageState_MESSAGE_STATE_VISIBLE
	MessageInFlight  = seriatimpb.MessageState_MESSAGE_STATE_IN_FLIGHT
	MessageDelayed   = seriatimpb.MessageState_MESSAGE_STATE_DELAYED
	MessageScheduled = seriatimpb.MessageState_MESSAGE_STATE_SCHEDULED
	MessageDeferred  = seriatimpb.MessageState_MESSAGE_STATE_DEFERRED
)

// Peek reads up to 100 messages in any state from a sequence number on, and locks none. It
// returns the number to continue from, 0 at the end.
func (c *Client) Peek(ctx context.Context, queue string, from uint64, limit int32) (messages []*PeekedMessage, next uint64,
	err error) {
	in := &seriatimpb.PeekRequest{Queue: queue, FromSequenceNumber: from, MaxMessages: limit}
	out, err := Call(ctx, c, true, seriatimpb.NewMessagesClient, seriatimpb.MessagesClient.Peek, in)
	return out.GetMessages(), out.GetNextSequenceNumber(), err
}
