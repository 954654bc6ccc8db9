package grpc

import (
	"errors"
	"io"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// sendStream is the server's end of SendStream.
type sendStream = grpc.BidiStreamingServer[seriatimpb.SendStreamRequest, seriatimpb.SendStreamResponse]

// SendStream sends messages without waiting for one answer before the next message.
func (q *queues) SendStream(stream sendStream) error {
	ctx := stream.Context()
	c := callOf(ctx)
	if q.server.waits.Context().Err() != nil {
		return errDraining
	}
	if err := c.openSendStream(stream); err != nil {
		return err
	}
	if err := stream.Send(&seriatimpb.SendStreamResponse{UnansweredMax: unansweredMax}); err != nil {
		return err
	}
	p := newPipeline(c.submitter(ctx), c.statusOf)
	defer func() {
		p.stop()
		p.commands.Wait()
	}()
	r := &messageReader{call: c, stream: stream, pipeline: p, room: make(chan struct{}, 1), ended: make(chan error, 1)}
	// It ends with the stream, which is over when this method has returned.
	go func() { r.ended <- r.read() }()
	return answerSends(c, stream, p, r)
}

// openSendStream reads the first request.
func (c *call) openSendStream(stream sendStream) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return refusal.MissingParameter("queue")
	}
	if err != nil {
		return err
	}
	if err := c.on(first.GetQueue()); err != nil {
		return err
	}
	if len(first.GetMessages()) > 0 {
		return c.refuse(stream.Context(), refusal.InvalidParameter("The first request of the stream names the queue and has no messages."))
	}
	return c.read(stream.Context(), func(v queue.View) error {
		if !v.QueueExists(c.queue) {
			return refusal.NoSuchQueue()
		}
		return nil
	})
}

// answerSends sends results until the stream has to end.
func answerSends(c *call, stream sendStream, p *pipeline, r *messageReader) error {
	ctx := stream.Context()
	draining, ended := c.server.waits.Context().Done(), r.ended
	next, ending, over := uint64(1), error(nil), false
	for {
		results, size, done, failed := p.answered()
		if len(results) > 0 {
			if err := stream.Send(&seriatimpb.SendStreamResponse{FirstNumber: next, Results: results}); err != nil {
				return err
			}
			next += uint64(len(results))
			c.in.account.release(size)
			r.roomMade()
			continue
		}
		if failed != nil && !over {
			ending, over = failed, true
		}
		if over && done {
			return ending
		}
		select {
		case <-p.progress:
		case err := <-ended:
			p.stop()
			ended = nil
			if !over {
				ending, over = err, true
			}
		case <-draining:
			p.stop()
			draining = nil
			if !over {
				ending, over = errDraining, true
			}
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// messageReader reads the messages of a SendStream into its pipeline.
type messageReader struct {
	call     *call
	stream   sendStream
	pipeline *pipeline
	room     chan struct{} // capacity 1: the pipeline may not be full any more
	ended    chan error    // capacity 1: the one result of read
}

// roomMade says that messages were answered.
func (r *messageReader) roomMade() {
	select {
	case r.room <- struct{}{}:
	default:
	}
}

// read reads until the client has sent all, which is no error, or the stream must
// end.
func (r *messageReader) read() error {
	ctx, next := r.stream.Context(), uint64(1)
	for {
		for r.pipeline.full() {
			select {
			case <-r.room:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		in, err := r.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if refused := queue.CheckEntryCount(len(in.GetMessages()), "message"); refused != nil {
			return refused
		}
		if in.GetFirstNumber() != next {
			return refusal.InvalidValue(strconv.FormatUint(in.GetFirstNumber(), 10), "first_number",
				"The next message has the number "+strconv.FormatUint(next, 10)+".")
		}
		next += uint64(len(in.GetMessages()))
		messages, size := make([]*outgoing, len(in.GetMessages())), int64(0)
		for i, m := range in.GetMessages() {
			messages[i] = &outgoing{entry: sendEntry(m), size: sizeOf(m)}
			size += messages[i].size
		}
		r.call.in.body.give() // it was read, and is counted until it is answered
		if err := r.call.in.account.acquire(ctx, size); err != nil {
			return err
		}
		if !r.pipeline.add(messages) {
			return nil // the stream ends already, for a reason of its own
		}
	}
}

// sizeOf is what counts of a message against the size of a batch.
func sizeOf(m *seriatimpb.OutgoingMessage) int64 {
	n := len(m.GetBody())
	for name, a := range m.GetAttributes() {
		n += len(name) + len(a.GetDataType()) + len(a.GetText()) + len(a.GetBinary())
	}
	return int64(n)
}
