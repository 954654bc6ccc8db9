package grpc

import (
	"context"
	"errors"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// Complete deletes messages.
func (m *messages) Complete(ctx context.Context, in *seriatimpb.CompleteRequest) (*seriatimpb.SettleResponse, error) {
	return submitSettlement(ctx, in.GetSession(), func(name string, ref queue.SessionRef) queue.Command {
		return &queue.DeleteMessages{Queue: name, Batch: true, Handles: in.GetReceiptHandles(),
			Options: &queue.SettlementOptions{Session: ref}}
	})
}

// Abandon makes messages visible.
func (m *messages) Abandon(ctx context.Context, in *seriatimpb.AbandonRequest) (*seriatimpb.SettleResponse, error) {
	return submitSettlement(ctx, in.GetSession(), func(name string, ref queue.SessionRef) queue.Command {
		cmd := changeUnderLock(name, ref, in.GetReceiptHandles(), 0)
		cmd.Changes = domainChanges(in.GetChanges())
		return cmd
	})
}

// changeUnderLock returns a command that sets visibility timeouts by the rules of Service Bus.
func changeUnderLock(name string, ref queue.SessionRef, handles []string, seconds int64) *queue.ChangeMessageVisibility {
	cmd := &queue.ChangeMessageVisibility{Queue: name, Batch: true, Options: &queue.SettlementOptions{Session: ref}}
	for _, handle := range handles {
		cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{Handle: handle, VisibilityTimeout: queue.Some(seconds)})
	}
	return cmd
}

// Renew renews the locks of messages.
func (m *messages) Renew(ctx context.Context, in *seriatimpb.RenewRequest) (*seriatimpb.SettleResponse, error) {
	seconds := int64(in.GetLockSeconds())
	if in.LockSeconds == nil {
		c := callOf(ctx)
		err := c.Read(ctx, func(v queue.View) error {
			attributes, refused := v.Typed(c.queue)
			if refused != nil {
				return refused
			}
			seconds = max(attributes.VisibilitySeconds, 1)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return submitSettlement(ctx, nil, func(name string, ref queue.SessionRef) queue.Command {
		return changeUnderLock(name, ref, in.GetReceiptHandles(), seconds)
	})
}

// Defer stores messages for ReceiveDeferred.
func (m *messages) Defer(ctx context.Context, in *seriatimpb.DeferRequest) (*seriatimpb.SettleResponse, error) {
	return submitSettlement(ctx, in.GetSession(), func(name string, ref queue.SessionRef) queue.Command {
		return &queue.Defer{Queue: name, Session: ref, Handles: in.GetReceiptHandles(), Changes: domainChanges(in.GetChanges())}
	})
}

// DeadLetter moves messages to the dead-letter queue.
func (m *messages) DeadLetter(ctx context.Context, in *seriatimpb.DeadLetterRequest) (*seriatimpb.SettleResponse, error) {
	return submitSettlement(ctx, in.GetSession(), func(name string, ref queue.SessionRef) queue.Command {
		cmd := &queue.DeadLetter{Queue: name, Session: ref, Changes: domainChanges(in.GetChanges())}
		for _, e := range in.GetEntries() {
			cmd.Entries = append(cmd.Entries, queue.DeadLetterEntry{Handle: e.GetReceiptHandle(), Reason: e.GetReason(),
				Description: e.GetDescription()})
		}
		return cmd
	})
}

// submitSettlement executes a command that ends deliveries, each on its own. It fails as a
// whole if the session has lost its lock.
func submitSettlement(ctx context.Context, in *seriatimpb.SessionRef,
	command func(string, queue.SessionRef) queue.Command) (*seriatimpb.SettleResponse, error) {
	c := callOf(ctx)
	ref, err := c.session(ctx, in)
	if err != nil {
		return nil, err
	}
	done, err := service.Submit[queue.EntriesDone](ctx, &c.Call, command(c.queue, ref))
	if err != nil {
		return nil, err
	}
	c.Record.Trace.Batch(len(done.Errs))
	if lost := sessionLost(ref, done); lost != nil {
		return nil, lost
	}
	return &seriatimpb.SettleResponse{Outcomes: outcomes(done)}, nil
}

// sessionLost returns the error of a settlement whose session has lost its lock, else nil.
func sessionLost(ref queue.SessionRef, done queue.EntriesDone) error {
	if ref == (queue.SessionRef{}) {
		return nil
	}
	for _, err := range done.Errs {
		if err != nil && err.Code == refusal.SessionLockLost {
			return err
		}
	}
	return nil
}

// ReceiveDeferred receives deferred messages by their sequence numbers.
func (m *messages) ReceiveDeferred(ctx context.Context, in *seriatimpb.ReceiveDeferredRequest) (*seriatimpb.ReceiveDeferredResponse,
	error) {
	c := callOf(ctx)
	ref, err := c.session(ctx, in.GetSession())
	if err != nil {
		return nil, err
	}
	numbers, err := c.sequences(ctx, in.GetSequenceNumbers())
	if err != nil {
		return nil, err
	}
	received, err := service.Submit[queue.MessagesReceived](ctx, &c.Call, &queue.ReceiveDeferred{
		Queue: c.queue, Sequences: numbers, Session: ref,
		VisibilityTimeout: domainInt(in.VisibilityTimeoutSeconds), Delete: in.GetDeleteOnReceipt(),
	})
	if refused, ok := errors.AsType[*queue.Error](err); ok {
		return nil, asSent(refused, in.GetSequenceNumbers())
	}
	if err != nil {
		return nil, err
	}
	c.Record.Trace.Received(received.Messages)
	out, size := wireMessages(received.Messages)
	return &seriatimpb.ReceiveDeferredResponse{Messages: out}, c.acquireAnswer(ctx, size)
}
