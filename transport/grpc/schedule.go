package grpc

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/message"
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
	done, err := c.cancel(ctx, &queue.CancelScheduled{
		Queue: c.queue, Sequences: numbers, ForgetDeduplicationID: in.GetForgetDeduplicationId(),
	}, in.GetSequenceNumbers())
	return &seriatimpb.CancelScheduledResponse{Outcomes: done}, err
}

// cancel cancels scheduled messages. Errors have their numbers as sent.
func (c *call) cancel(ctx context.Context, cmd *queue.CancelScheduled, sent []uint64) ([]*seriatimpb.Outcome, error) {
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call, cmd)
	for i, refused := range done.Errs {
		done.Errs[i] = asSent(refused, sent)
	}
	return outcomes(done), err
}

// CancelScheduledPublishes deletes scheduled messages of a topic, each on its own.
func (t *topics) CancelScheduledPublishes(ctx context.Context, in *seriatimpb.CancelScheduledPublishesRequest) (
	*seriatimpb.CancelScheduledPublishesResponse, error) {
	c := callOf(ctx)
	numbers, err := c.sequences(ctx, in.GetSequenceNumbers())
	if err != nil {
		return nil, err
	}
	done, err := c.cancel(ctx, &queue.CancelScheduled{
		Topic: c.topic, Sequences: numbers, ForgetDeduplicationID: in.GetForgetDeduplicationId(),
	}, in.GetSequenceNumbers())
	return &seriatimpb.CancelScheduledPublishesResponse{Outcomes: done}, err
}

// ListScheduledPublishes lists the messages that a topic publishes later.
func (t *topics) ListScheduledPublishes(ctx context.Context, in *seriatimpb.ListScheduledPublishesRequest) (
	*seriatimpb.ListScheduledPublishesResponse, error) {
	c := callOf(ctx)
	limit, from, err := c.page(ctx, in)
	if err != nil {
		return nil, err
	}
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.ScheduledPublication, *queue.Error) {
		return v.ScheduledPublications(c.topic, from, limit+1)
	})
	if err != nil {
		return nil, err
	}
	out := &seriatimpb.ListScheduledPublishesResponse{}
	var total int64
	for i := range found {
		one := scheduledPublish(&found[i])
		size := int64(proto.Size(one))
		if i == limit || total+size > peekBytes && i > 0 {
			out.NextSequenceNumber = found[i].Sequence.Number()
			break
		}
		total += size
		out.Messages = append(out.Messages, one)
	}
	return out, c.hold(ctx, total)
}

func scheduledPublish(p *queue.ScheduledPublication) *seriatimpb.ScheduledPublish {
	given := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	content, attributes := &seriatimpb.Message{Body: p.Message}, p.Attributes
	if p.Encoded != nil {
		m := queue.ReceivedMessage{Body: message.NewBody(p.Message), Attributes: p.Attributes, Encoded: p.Encoded}
		content.Body, attributes = "", wireContent(content, &m)
	}
	return &seriatimpb.ScheduledPublish{
		MessageId: p.MessageID.String(), SequenceNumber: p.Sequence.Number(),
		Message: &seriatimpb.TopicMessage{
			Message: content.GetBody(), BodyBytes: content.BodyBytes, Amqp: content.GetAmqp(), Subject: given(p.Subject),
			Attributes: wireAttributes(attributes), GroupId: given(p.GroupID), DeduplicationId: given(p.DeduplicationID),
			TraceHeader: p.TraceHeader, PartitionKey: p.PartitionKey, EnqueueAtMs: int64(p.DueAt),
		},
	}
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
