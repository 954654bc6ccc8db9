package grpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

type sendStream = grpc.BidiStreamingServer[seriatimpb.SendStreamRequest, seriatimpb.SendStreamResponse]

// SendStream sends messages without a wait for each answer.
func (q *queues) SendStream(stream sendStream) error {
	ctx := stream.Context()
	c := callOf(ctx)
	if q.server.waits.Context().Err() != nil {
		return errDraining
	}
	err := c.openSendStream(stream)
	if err != nil {
		return err
	}
	return pipelined[queue.SendEntry, seriatimpb.SendResult]{
		commands: c.sends(ctx),
		receive: func() (uint64, []*outgoing[queue.SendEntry, seriatimpb.SendResult], error) {
			in, err := stream.Recv()
			return in.GetFirstNumber(), outgoingSends(in.GetMessages()), err
		},
		answer: func(first uint64, results []*seriatimpb.SendResult, unanswered uint32) error {
			return stream.Send(&seriatimpb.SendStreamResponse{FirstNumber: first, Results: results, UnansweredMax: unanswered})
		},
	}.serve(ctx, c)
}

// openSendStream reads the first request and checks the queue it names.
func (c *call) openSendStream(stream sendStream) error {
	first, err := stream.Recv()
	if err := opened(err, "queue"); err != nil {
		return err
	}
	if err := c.on(first.GetQueue()); err != nil {
		return err
	}
	if len(first.GetMessages()) > 0 {
		return c.refuse(stream.Context(), errMessagesFirst)
	}
	return c.Read(stream.Context(), func(v queue.View) error {
		if !v.QueueExists(c.queue) {
			return refusal.NoSuchQueue()
		}
		return nil
	})
}

// sends returns the commands of a SendStream.
func (c *call) sends(ctx context.Context) commands[queue.SendEntry, seriatimpb.SendResult] {
	name, sender := c.queue, c.SenderID()
	return commands[queue.SendEntry, seriatimpb.SendResult]{
		entriesMax: limits.StreamEntriesMax, bytesMax: limits.BatchBytesMax, status: c.statusOf,
		failed: func(f *seriatimpb.Failure) *seriatimpb.SendResult { return &seriatimpb.SendResult{Failure: f} },
		submit: func(entries []queue.SendEntry) ([]*seriatimpb.SendResult, error) {
			c.Record.Trace.Batch(len(entries))
			c.Record.Trace.Sent(entries)
			reply, err := c.server.Node.Submit(ctx, &queue.SendMessages{
				Queue: name, SenderID: sender, Batch: len(entries) > 1, Streamed: len(entries) > limits.BatchEntriesMax, Entries: entries,
			})
			sent, err := resultOf[queue.MessagesSent](reply.Result, err)
			if err != nil {
				return nil, err
			}
			results := make([]*seriatimpb.SendResult, len(sent.Entries))
			for i := range results {
				results[i] = sendResult(&sent.Entries[i], reply.Repeated)
			}
			return results, nil
		},
	}
}

func outgoingSends(messages []*seriatimpb.OutgoingMessage) []*outgoing[queue.SendEntry, seriatimpb.SendResult] {
	out := make([]*outgoing[queue.SendEntry, seriatimpb.SendResult], len(messages))
	for i, m := range messages {
		e := sendEntry(m)
		out[i] = &outgoing[queue.SendEntry, seriatimpb.SendResult]{
			entry: e, group: m.GetGroupId(), ordered: m.GroupId != nil,
			size: message.Size(e.Body, e.Attributes) + e.Encoded.Size(), memory: int64(proto.Size(m)),
		}
	}
	return out
}
