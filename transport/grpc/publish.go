package grpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// Publish publishes 1 to 10 messages, all or none.
func (t *topics) Publish(ctx context.Context, in *seriatimpb.PublishRequest) (*seriatimpb.PublishResponse, error) {
	c := callOf(ctx)
	entries := make([]queue.PublishEntry, 0, min(len(in.GetMessages()), limits.BatchEntriesMax+1))
	for _, m := range in.GetMessages()[:cap(entries)] {
		entries = append(entries, publishEntry(m))
	}
	results, err := c.publisher(ctx)(entries)
	return &seriatimpb.PublishResponse{Results: results}, err
}

// PublishStream publishes messages without a wait for each answer.
func (t *topics) PublishStream(stream grpc.BidiStreamingServer[seriatimpb.PublishStreamRequest, seriatimpb.PublishStreamResponse]) error {
	ctx := stream.Context()
	c := callOf(ctx)
	if t.server.waits.Context().Err() != nil {
		return errDraining
	}
	first, err := stream.Recv()
	if err := opened(err, "topic"); err != nil {
		return err
	}
	if err := c.onTopic(first.GetTopic()); err != nil {
		return err
	}
	if len(first.GetMessages()) > 0 {
		return errMessagesFirst
	}
	_, err = service.ReadValue(ctx, &c.Call, func(v queue.View) (string, *queue.Error) { return v.TopicARN(c.topic) })
	if err != nil {
		return err
	}
	return pipelined[queue.PublishEntry, seriatimpb.PublishResult]{
		commands: commands[queue.PublishEntry, seriatimpb.PublishResult]{
			entriesMax: limits.BatchEntriesMax, bytesMax: limits.PublishBytesMax, submit: c.publisher(ctx), status: c.statusOf,
			failed: func(f *seriatimpb.Failure) *seriatimpb.PublishResult { return &seriatimpb.PublishResult{Failure: f} },
		},
		receive: func() (uint64, []*outgoing[queue.PublishEntry, seriatimpb.PublishResult], error) {
			in, err := stream.Recv()
			return in.GetFirstNumber(), outgoingPublishes(in.GetMessages()), err
		},
		answer: func(first uint64, results []*seriatimpb.PublishResult, unanswered uint32) error {
			return stream.Send(&seriatimpb.PublishStreamResponse{FirstNumber: first, Results: results, UnansweredMax: unanswered})
		},
	}.serve(ctx, c)
}

// publisher returns a function that executes one Publish command. Safe for concurrent use.
func (c *call) publisher(ctx context.Context) func([]queue.PublishEntry) ([]*seriatimpb.PublishResult, error) {
	name, sender, endpoint := c.topic, c.SenderID(), aws.BaseURL(c.in.request)
	return func(entries []queue.PublishEntry) ([]*seriatimpb.PublishResult, error) {
		c.Record.Trace.Batch(len(entries))
		c.Record.Trace.Published(entries)
		reply, err := c.server.Node.Submit(ctx, &queue.Publish{
			Topic: name, SenderID: sender, Endpoint: endpoint, Batch: len(entries) != 1, Entries: entries,
		})
		published, err := resultOf[queue.Published](reply.Result, err)
		if err != nil {
			return nil, err
		}
		results := make([]*seriatimpb.PublishResult, len(published.Entries))
		for i := range results {
			e := &published.Entries[i]
			results[i] = &seriatimpb.PublishResult{
				MessageId: e.MessageID.String(), SequenceNumber: e.Sequence.Number(), FirstAcceptedAtMs: int64(e.AcceptedAt),
				FirstIsScheduled: e.FirstIsScheduled,
			}
			if !reply.Repeated {
				results[i].Duplicate = &e.Duplicate
			}
		}
		return results, nil
	}
}

// publishEntry converts a message of a request.
func publishEntry(m *seriatimpb.TopicMessage) queue.PublishEntry {
	body, encoded := m.GetMessage(), (*queue.Encoded)(nil)
	if m.BodyBytes != nil || m.GetAmqp() != nil {
		body, encoded = domainContent(body, m.BodyBytes, m.GetAmqp(), nil)
	}
	return queue.PublishEntry{
		Message: body, Encoded: encoded, Native: true, Subject: m.GetSubject(), SubjectGiven: m.Subject != nil,
		Attributes: domainAttributes(m.GetAttributes()),
		GroupID:    groupID(m.GroupId), GroupIDGiven: m.GroupId != nil,
		DeduplicationID: m.GetDeduplicationId(), DeduplicationIDGiven: m.DeduplicationId != nil,
		TraceHeader: m.GetTraceHeader(), Options: sendOptions(m),
	}
}

func outgoingPublishes(messages []*seriatimpb.TopicMessage) []*outgoing[queue.PublishEntry, seriatimpb.PublishResult] {
	out := make([]*outgoing[queue.PublishEntry, seriatimpb.PublishResult], len(messages))
	for i, m := range messages {
		e := publishEntry(m)
		out[i] = &outgoing[queue.PublishEntry, seriatimpb.PublishResult]{
			entry: e, group: m.GetGroupId(), ordered: m.GroupId != nil,
			size: message.Size(e.Message, e.Attributes) + e.Encoded.Size(), memory: int64(proto.Size(m)),
		}
	}
	return out
}
