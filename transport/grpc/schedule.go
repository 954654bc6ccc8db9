package grpc

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// messages implements the service Messages. Safe for concurrent use.
type messages struct {
	seriatimpb.UnimplementedMessagesServer
	server *Server
}

// ScheduleMessages sends 1 to 10 messages, each with its time of enqueueing.
func (m *messages) ScheduleMessages(ctx context.Context, in *seriatimpb.ScheduleMessagesRequest) (*seriatimpb.ScheduleMessagesResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	for _, scheduled := range in.GetMessages() {
		if scheduled.GetEnqueueAtMs() == 0 {
			return nil, c.refuse(ctx, refusal.MissingParameter("enqueue_at_ms"))
		}
	}
	results, err := c.send(ctx, in.GetMessages())
	return &seriatimpb.ScheduleMessagesResponse{Results: results}, err
}

// CancelScheduled deletes scheduled messages, each for itself.
func (m *messages) CancelScheduled(ctx context.Context, in *seriatimpb.CancelScheduledRequest) (*seriatimpb.CancelScheduledResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	done, err := resultOf[queue.EntriesDone](c.submit(ctx, &queue.CancelScheduled{
		Queue: c.queue, Sequences: sequences(in.GetSequenceNumbers()), ForgetDeduplicationID: in.GetForgetDeduplicationId(),
	}))
	return &seriatimpb.CancelScheduledResponse{Outcomes: outcomes(done)}, err
}

// sequences are sequence numbers in the form of the domain.
func sequences(numbers []uint64) []queue.SequenceNumber {
	out := make([]queue.SequenceNumber, len(numbers))
	for i, n := range numbers {
		out[i] = queue.SequenceNumber(n)
	}
	return out
}
