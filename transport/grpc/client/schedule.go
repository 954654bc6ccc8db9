package client

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Schedule sends 1 to 10 messages that are delivered from a time on. The numbers of the
// results cancel them. The error is that of Send.
func (c *Client) Schedule(ctx context.Context, queue string, at time.Time, messages ...*Message) ([]*Result, error) {
	scheduled := make([]*Message, len(messages))
	for i, m := range messages {
		if m.DeduplicationId == nil && !c.options.ContentDeduplication {
			m = withID(m)
		}
		scheduled[i] = &Message{
			Body: m.GetBody(), Attributes: m.GetAttributes(), GroupId: m.GroupId, DeduplicationId: m.DeduplicationId,
			TraceHeader: m.GetTraceHeader(), PartitionKey: m.GetPartitionKey(), EnqueueAtMs: at.UnixMilli(),
		}
	}
	in := &seriatimpb.ScheduleMessagesRequest{Queue: queue, Messages: scheduled}
	var out *seriatimpb.ScheduleMessagesResponse
	err := c.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) (err error) {
		out, err = seriatimpb.NewMessagesClient(on).ScheduleMessages(ctx, in, o...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out.GetResults(), firstRefused(out.GetResults())
}

// firstRefused is the error of the first message that was refused.
func firstRefused(results []*Result) error {
	for _, r := range results {
		if r.GetFailure() != nil {
			return failureOf(r.GetFailure())
		}
	}
	return nil
}

// CancelScheduled deletes 1 to 10 scheduled messages by their numbers. forget lets their
// deduplication ids be sent again at once. The error is that of the call, or of the first
// number that was not found: its message was enqueued, or cancelled before.
func (c *Client) CancelScheduled(ctx context.Context, queue string, forget bool, numbers ...uint64) error {
	in := &seriatimpb.CancelScheduledRequest{Queue: queue, SequenceNumbers: numbers, ForgetDeduplicationId: forget}
	return c.settle(ctx, func(ctx context.Context, on seriatimpb.MessagesClient, o ...grpc.CallOption) ([]*seriatimpb.Outcome, error) {
		out, err := on.CancelScheduled(ctx, in, o...)
		return out.GetOutcomes(), err
	})
}

// Peek looks at up to 100 messages from a number on, in whatever state, and locks none.
// It returns where to go on, 0 at the end.
func (c *Client) Peek(ctx context.Context, queue string, from uint64, limit int32) (messages []*seriatimpb.PeekedMessage, next uint64, err error) {
	var out *seriatimpb.PeekResponse
	err = c.CallOn(ctx, true, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) (err error) {
		out, err = seriatimpb.NewMessagesClient(on).Peek(ctx, &seriatimpb.PeekRequest{Queue: queue, FromSequenceNumber: from, MaxMessages: limit}, o...)
		return err
	})
	return out.GetMessages(), out.GetNextSequenceNumber(), err
}
