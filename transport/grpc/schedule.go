package grpc

import (
	"context"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// messages implements the service Messages. Safe for concurrent use.
type messages struct {
	seriatimpb.UnimplementedMessagesServer
	server *Server
}

// ScheduleMessages sends 1 to 10 messages, each with a time to enqueue it.
func (m *messages) ScheduleMessages(ctx context.Context, in *seriatimpb.ScheduleMessagesRequest) (*seriatimpb.ScheduleMessagesResponse,
	error) {
	c := callOf(ctx)
	for _, scheduled := range in.GetMessages() {
		if scheduled.GetEnqueueAtMs() == 0 {
			return nil, c.refuse(ctx, refusal.MissingParameter("enqueue_at_ms"))
		}
	}
	results, err := c.send(ctx, in.GetMessages())
	return &seriatimpb.ScheduleMessagesResponse{Results: results}, err
}

// CancelScheduled deletes scheduled messages, each on its own.
func (m *messages) CancelScheduled(ctx context.Context, in *seriatimpb.CancelScheduledRequest) (*seriatimpb.CancelScheduledResponse,
	error) {
	c := callOf(ctx)
	numbers, err := c.sequences(ctx, in.GetSequenceNumbers())
	if err != nil {
		return nil, err
	}
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call, &queue.CancelScheduled{
		Queue: c.queue, Sequences: numbers, ForgetDeduplicationID: in.GetForgetDeduplicationId(),
	})
	for i, refused := range done.Errs {
		done.Errs[i] = asSent(refused, in.GetSequenceNumbers())
	}
	return &seriatimpb.CancelScheduledResponse{Outcomes: outcomes(done)}, err
}

// sequences converts sequence numbers.
func (c *call) sequences(ctx context.Context, sent []uint64) ([]queue.SequenceNumber, error) {
	out := make([]queue.SequenceNumber, len(sent))
	for i, n := range sent {
		var ok bool
		if out[i], ok = identifier.SequenceNumberOf(n); !ok {
			return nil, c.refuse(ctx, refusal.InvalidValue(strconv.FormatUint(n, 10), "sequence_number", "No message has such a number."))
		}
	}
	return out, nil
}

// asSent replaces the sequence numbers in the text of an error by those of the request.
func asSent(refused *queue.Error, sent []uint64) *queue.Error {
	if refused == nil {
		return nil
	}
	text := refused.Message
	for _, n := range sent {
		if number, _ := identifier.SequenceNumberOf(n); number.Number() != n {
			text = strings.ReplaceAll(text, number.String(), strconv.FormatUint(n, 10))
		}
	}
	return refusal.New(refused.Code, text)
}
