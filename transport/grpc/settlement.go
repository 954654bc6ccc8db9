package grpc

import (
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// read reads requests until the client closes its side (io.EOF) or the stream must end.
func (s *consumer) read() error {
	ctx := s.stream.Context()
	for {
		in, err := s.stream.Recv()
		if err != nil {
			return err
		}
		switch request := in.GetRequest().(type) {
		case *seriatimpb.ConsumeRequest_Credit:
			if request.Credit > creditMax {
				return refusal.InvalidValue(strconv.FormatUint(uint64(request.Credit), 10), "credit", "Must be between 0 and 1000.")
			}
			s.held.setCredit(int(request.Credit))
		case *seriatimpb.ConsumeRequest_Settlement:
			if refused := s.checkSettlement(request.Settlement); refused != nil {
				return refused
			}
			if err := s.beginSettlement(ctx, request.Settlement); err != nil {
				return err
			}
		default:
			return refusal.InvalidParameter("A request of an open stream has a settlement or a credit.")
		}
	}
}

// beginSettlement starts a settlement when a slot is free. Its memory counts until the end.
func (s *consumer) beginSettlement(ctx context.Context, in *seriatimpb.Settlement) error {
	select {
	case s.settling <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	memory := int64(proto.Size(in))
	s.call.in.body.releaseMessage()
	if err := s.call.in.account.acquire(ctx, memory); err != nil {
		return err
	}
	s.begin(func() {
		defer func() {
			s.call.in.account.release(memory)
			<-s.settling
		}()
		s.execute(ctx, in)
	})
	return nil
}

func (s *consumer) checkSettlement(in *seriatimpb.Settlement) *queue.Error {
	if refused := checkRequestCount(len(in.GetReceiptHandles()), "receipt_handles"); refused != nil {
		return refused
	}
	switch in.GetKind() {
	case seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON,
		seriatimpb.SettlementKind_SETTLEMENT_KIND_DEFER, seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER:
	case seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND:
		if s.session != nil {
			return refusal.New(refusal.UnsupportedOperation,
				"Messages of a session are locked as long as their session, whose lock the stream renews.")
		}
		if n := in.GetVisibilityTimeoutSeconds(); n < 1 || n > limits.VisibilitySecondsMax {
			return refusal.InvalidValue(strconv.Itoa(int(n)), "visibility_timeout_seconds", "Must be between 1 and 43200 to extend.")
		}
	default:
		return refusal.InvalidValue(in.GetKind().String(), "kind", "It is none of acknowledge, abandon, extend, defer and dead-letter.")
	}
	return nil
}

// execute executes one settlement and answers it. If the answer cannot be sent, the other
// goroutines end the stream.
func (s *consumer) execute(ctx context.Context, in *seriatimpb.Settlement) {
	handles := in.GetReceiptHandles()
	s.held.beginSettlement(handles)
	var done queue.EntriesDone
	err := s.call.permits(settlements[in.GetKind()])
	switch kind := in.GetKind(); {
	case err != nil:
	case kind == seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE:
		done, err = s.remove(ctx, handles)
	case kind == seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON:
		done, err = s.abandon(ctx, handles)
	case kind == seriatimpb.SettlementKind_SETTLEMENT_KIND_DEFER:
		done, err = s.deferMessages(ctx, handles)
	case kind == seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER:
		done, err = s.deadLetter(ctx, in)
	default:
		done, err = s.changeVisibility(ctx, handles, in.GetVisibilityTimeoutSeconds())
	}
	out := &seriatimpb.Settled{Number: in.GetNumber(), Outcomes: outcomes(done)}
	until := time.Duration(0)
	if in.GetKind() == seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND {
		until = time.Duration(in.GetVisibilityTimeoutSeconds()) * time.Second
	}
	s.held.endSettlement(handles[:len(done.Errs)], done.Errs, until)
	if err != nil {
		failure, failed := errorFailure(s.call.statusOf(err)), handles[len(done.Errs):]
		for range failed {
			out.Outcomes = append(out.Outcomes, &seriatimpb.Outcome{Failure: failure})
		}
		s.held.keep(failed)
	}
	_ = s.send(&seriatimpb.ConsumeResponse{Response: &seriatimpb.ConsumeResponse_Settled{Settled: out}})
	if s.session != nil {
		s.session.endIfLost(done)
	}
}

// inBatches executes one command for each batch of handles. After an error it returns the
// results before it. It sets at, if not nil, to the log index of the last command.
func (s *consumer) inBatches(ctx context.Context, handles []string, size int, at *uint64,
	command func(batch []string) queue.Command) (done queue.EntriesDone, err error) {
	for batch := range slices.Chunk(handles, size) {
		reply, err := s.call.server.Node.Submit(ctx, command(batch))
		result, err := resultOf[queue.EntriesDone](reply.Result, err)
		if err != nil {
			return done, err
		}
		done.Errs = append(done.Errs, result.Errs...)
		if at != nil {
			*at = reply.Index
		}
	}
	return done, nil
}

// options returns the rules of a session, nil outside of one.
func (s *consumer) options() *queue.SettlementOptions {
	if s.session == nil {
		return nil
	}
	return &queue.SettlementOptions{Session: s.session.ref}
}

// abandon makes messages visible at once.
func (s *consumer) abandon(ctx context.Context, handles []string) (queue.EntriesDone, error) {
	if s.session != nil {
		return s.abandonInSession(ctx, handles)
	}
	return s.changeVisibility(ctx, handles, 0)
}

func (s *consumer) changeVisibility(ctx context.Context, handles []string, seconds int32) (queue.EntriesDone, error) {
	return s.inBatches(ctx, handles, limits.BatchEntriesMax, nil, func(batch []string) queue.Command {
		entries := make([]queue.VisibilityEntry, len(batch))
		for i, handle := range batch {
			entries[i] = queue.VisibilityEntry{Handle: handle, VisibilityTimeout: queue.Some(int64(seconds))}
		}
		return &queue.ChangeMessageVisibility{Queue: s.call.queue, Batch: true, Entries: entries, Options: s.options()}
	})
}

func (s *consumer) remove(ctx context.Context, handles []string) (queue.EntriesDone, error) {
	return s.inBatches(ctx, handles, limits.StreamEntriesMax, nil, func(batch []string) queue.Command {
		return &queue.DeleteMessages{
			Queue: s.call.queue, Batch: true, Handles: batch, Streamed: len(batch) > limits.BatchEntriesMax, Options: s.options(),
		}
	})
}

func (s *consumer) deferMessages(ctx context.Context, handles []string) (queue.EntriesDone, error) {
	return s.inBatches(ctx, handles, limits.BatchEntriesMax, nil, func(batch []string) queue.Command {
		return &queue.Defer{Queue: s.call.queue, Session: s.sessionRef(), Handles: batch}
	})
}

func (s *consumer) deadLetter(ctx context.Context, in *seriatimpb.Settlement) (queue.EntriesDone, error) {
	return s.inBatches(ctx, in.GetReceiptHandles(), limits.BatchEntriesMax, nil, func(batch []string) queue.Command {
		cmd := &queue.DeadLetter{Queue: s.call.queue, Session: s.sessionRef()}
		for _, handle := range batch {
			cmd.Entries = append(cmd.Entries, queue.DeadLetterEntry{Handle: handle, Reason: in.GetReason(),
				Description: in.GetDescription()})
		}
		return cmd
	})
}
