package grpc

import (
	"context"
	"errors"
	"io"
	"strconv"

	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// pipelined is a stream of messages without a wait for each answer.
type pipelined[E, R any] struct {
	commands[E, R]
	// receive reads the next messages and the number of the first one.
	receive func() (first uint64, messages []*outgoing[E, R], err error)
	// answer sends results, or the bound for messages without an answer.
	answer func(first uint64, results []*R, unansweredMax uint32) error
}

// errMessagesFirst refuses messages in the request that opens a stream.
var errMessagesFirst = refusal.InvalidParameter("The first request of the stream names a queue or topic, and has no messages.")

// opened converts the error of the first request of a stream, which must have a parameter.
func opened(err error, parameter string) error {
	if errors.Is(err, io.EOF) {
		return refusal.MissingParameter(parameter)
	}
	return err
}

// serve serves an opened stream until it ends.
func (s pipelined[E, R]) serve(ctx context.Context, c *call) error {
	if err := s.answer(0, nil, unansweredMax); err != nil {
		return err
	}
	p := newPipeline(s.commands)
	defer func() {
		p.stop()
		p.inFlight.Wait()
	}()
	r := &messageReader[E, R]{pipelined: s, call: c, pipeline: p, room: make(chan struct{}, 1), ended: make(chan error, 1)}
	// It ends with the stream, after this method has returned.
	go func() { r.ended <- r.read(ctx) }()
	return r.answers(ctx)
}

// messageReader reads the messages of a stream into a pipeline, and sends the results.
type messageReader[E, R any] struct {
	pipelined[E, R]
	call     *call
	pipeline *pipeline[E, R]
	room     chan struct{} // capacity 1: the pipeline may have room again
	ended    chan error    // capacity 1: the result of read
}

// answers sends results until the stream ends.
func (r *messageReader[E, R]) answers(ctx context.Context) error {
	p := r.pipeline
	draining, ended := r.call.server.waits.Context().Done(), r.ended
	next, ending, over := uint64(1), error(nil), false
	for {
		results, memory, done, failed := p.answered()
		if len(results) > 0 {
			if err := r.answer(next, results, 0); err != nil {
				return err
			}
			next += uint64(len(results))
			r.call.in.account.release(memory)
			select {
			case r.room <- struct{}{}:
			default:
			}
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

// read reads until the client has sent all messages (no error) or the stream must end.
func (r *messageReader[E, R]) read(ctx context.Context) error {
	next := uint64(1)
	for {
		for r.pipeline.full() {
			select {
			case <-r.room:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		first, messages, err := r.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if refused := checkRequestCount(len(messages), "messages"); refused != nil {
			return refused
		}
		if first != next {
			return refusal.InvalidValue(strconv.FormatUint(first, 10), "first_number",
				"The next message has the number "+strconv.FormatUint(next, 10)+".")
		}
		next += uint64(len(messages))
		memory := int64(0)
		for _, m := range messages {
			memory += m.memory
		}
		r.call.in.body.releaseMessage() // memory counts it from now on
		if err := r.call.in.account.acquire(ctx, memory); err != nil {
			return err
		}
		if !r.pipeline.add(messages) {
			return nil // the stream ends already
		}
	}
}

// checkRequestCount refuses a request of a stream with no elements, or too many.
func checkRequestCount(n int, elements string) *queue.Error {
	switch {
	case n < 1:
		return refusal.New(refusal.EmptyBatchRequest, "A request of a stream has at least one of its "+elements+".")
	case n > requestMessagesMax:
		return refusal.New(refusal.TooManyEntriesInBatchRequest,
			"A request of a stream has at most "+strconv.Itoa(requestMessagesMax)+" "+elements+". You have sent "+strconv.Itoa(n)+".")
	}
	return nil
}
