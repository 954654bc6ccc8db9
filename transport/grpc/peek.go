package grpc

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/limits"
)

const (
	peekDefault = 10
	peekMax     = 100
	// peekBytes bounds an answer: most clients accept at most 4 MiB.
	peekBytes = 3 << 20
)

// states are keyed by the names of package queue.
var states = map[string]seriatimpb.MessageState{
	"visible":   seriatimpb.MessageState_MESSAGE_STATE_VISIBLE,
	"in flight": seriatimpb.MessageState_MESSAGE_STATE_IN_FLIGHT,
	"delayed":   seriatimpb.MessageState_MESSAGE_STATE_DELAYED,
	"scheduled": seriatimpb.MessageState_MESSAGE_STATE_SCHEDULED,
	"deferred":  seriatimpb.MessageState_MESSAGE_STATE_DEFERRED,
}

// Peek reads messages and changes none of them.
func (m *messages) Peek(ctx context.Context, in *seriatimpb.PeekRequest) (*seriatimpb.PeekResponse, error) {
	c := callOf(ctx)
	limit, from, err := c.page(ctx, in)
	if err != nil {
		return nil, err
	}
	var found []queue.PeekedMessage
	var bodies message.Reader
	err = c.Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		bodies = v.Bodies()
		if found, refused = v.Peek(c.queue, from, in.GetGroupId(), limit+1); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_ = c.server.Node.NoteUse(ctx, c.queue) // it does not concern the reader
	out := &seriatimpb.PeekResponse{}
	var total int64
	for i := range found {
		if i == limit || total+int64(found[i].Body.Len()) > peekBytes {
			out.NextSequenceNumber = found[i].Sequence.Number()
			break
		}
		if found[i].Body, err = bodies.Read(found[i].Body); err != nil {
			return nil, fmt.Errorf("%w: %w", cluster.ErrUnavailable, err)
		}
		one, size := wireMessages([]queue.ReceivedMessage{found[i].ReceivedMessage})
		if total+size > peekBytes {
			out.NextSequenceNumber = found[i].Sequence.Number()
			break
		}
		total += size
		out.Messages = append(out.Messages, &seriatimpb.PeekedMessage{
			Message: one[0], State: states[found[i].State], VisibleAtMs: int64(found[i].VisibleAt),
		})
	}
	return out, c.hold(ctx, total)
}

// page returns the number of messages that a request lists, and the number from which.
func (c *call) page(ctx context.Context, in interface {
	GetMaxMessages() int32
	GetFromSequenceNumber() uint64
}) (limit int, from queue.SequenceNumber, err error) {
	if limit = int(in.GetMaxMessages()); limit == 0 {
		limit = peekDefault
	}
	if limit < 1 || limit > peekMax {
		return 0, 0, c.refuse(ctx, refusal.InvalidValue(strconv.Itoa(limit), "max_messages", "Must be between 1 and 100, if provided."))
	}
	numbers, err := c.sequences(ctx, []uint64{in.GetFromSequenceNumber()})
	if err != nil {
		return 0, 0, err
	}
	return limit, numbers[0], nil
}

// hold counts the bytes of an answer against the limit of the port.
func (c *call) hold(ctx context.Context, bytes int64) error {
	if bytes > limits.FreeBytes && c.in.account.acquire(ctx, bytes) != nil {
		return errBudget
	}
	return nil
}
