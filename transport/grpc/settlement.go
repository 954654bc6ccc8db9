package grpc

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// read reads requests until the client has closed its side (io.EOF) or the stream
// must end.
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
			s.holdings.setCredit(int(request.Credit))
		case *seriatimpb.ConsumeRequest_Settlement:
			if refused := checkSettlement(request.Settlement); refused != nil {
				return refused
			}
			select {
			case s.settling <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			s.begin(func() {
				defer func() { <-s.settling }()
				s.settle(ctx, request.Settlement)
			})
		default:
			return refusal.InvalidParameter("A request of an open stream settles messages or changes the credit.")
		}
	}
}

func checkSettlement(in *seriatimpb.Settlement) *queue.Error {
	if refused := checkRequestCount(len(in.GetReceiptHandles()), "receipt_handles"); refused != nil {
		return refused
	}
	switch in.GetKind() {
	case seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON:
	case seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND:
		if n := in.GetVisibilityTimeoutSeconds(); n < 1 || n > limits.VisibilitySecondsMax {
			return refusal.InvalidValue(strconv.Itoa(int(n)), "visibility_timeout_seconds", "Must be between 1 and 43200 to extend.")
		}
	default:
		return refusal.InvalidValue(in.GetKind().String(), "kind", "It is none of acknowledge, abandon and extend.")
	}
	return nil
}

// settle executes one settlement and answers it. An answer that cannot be sent
// ends the stream elsewhere.
func (s *consumer) settle(ctx context.Context, in *seriatimpb.Settlement) {
	handles := in.GetReceiptHandles()
	s.holdings.settle(handles)
	var done queue.EntriesDone
	var err error
	switch in.GetKind() {
	case seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE:
		done, err = s.remove(ctx, handles)
	case seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON:
		done, err = s.changeVisibility(ctx, handles, 0)
	default:
		done, err = s.changeVisibility(ctx, handles, in.GetVisibilityTimeoutSeconds())
	}
	out := &seriatimpb.Settled{Number: in.GetNumber(), Outcomes: outcomes(done)}
	until := time.Duration(0)
	if in.GetKind() == seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND {
		until = time.Duration(in.GetVisibilityTimeoutSeconds()) * time.Second
	}
	s.holdings.settled(handles[:len(done.Errs)], done.Errs, until)
	if err != nil {
		failure, failed := errorFailure(s.call.statusOf(err)), handles[len(done.Errs):]
		for range failed {
			out.Outcomes = append(out.Outcomes, &seriatimpb.Outcome{Failure: failure})
		}
		s.holdings.keep(failed)
	}
	_ = s.send(&seriatimpb.ConsumeResponse{Response: &seriatimpb.ConsumeResponse_Settled{Settled: out}})
}

// holding is one delivery that the client holds.
type holding struct {
	until    time.Time // when it is visible again, unless renewed
	settling bool      // a settlement is under way
}

// holdings are the deliveries that the client of a stream holds. Safe for
// concurrent use.
type holdings struct {
	visibility time.Duration
	now        func() time.Time
	changed    chan struct{} // capacity 1: there may be room again

	mu       sync.Mutex
	credit   int
	byHandle map[string]*holding
}

func newHoldings(credit int, visibilitySeconds int32, now func() time.Time) *holdings {
	return &holdings{
		credit: credit, visibility: time.Duration(visibilitySeconds) * time.Second, now: now,
		changed: make(chan struct{}, 1), byHandle: make(map[string]*holding),
	}
}

// room is how many more deliveries the client takes.
func (h *holdings) room() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.credit - len(h.byHandle)
}

func (h *holdings) setCredit(credit int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.credit = credit
	h.notify()
}

// notify says that there may be room.
func (h *holdings) notify() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// add notes deliveries that the client holds from now on.
func (h *holdings) add(handles []string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range handles {
		h.byHandle[handle] = &holding{until: until}
	}
}

// all are the handles that are held.
func (h *holdings) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	handles := make([]string, 0, len(h.byHandle))
	for handle := range h.byHandle {
		handles = append(handles, handle)
	}
	return handles
}

// due are the handles to renew: those with less than two thirds of their time
// left, so that with a look at each third there is one more before the end.
func (h *holdings) due() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var due []string
	limit := h.now().Add(h.visibility * 2 / 3)
	for handle, held := range h.byHandle {
		if !held.settling && held.until.Before(limit) {
			due = append(due, handle)
		}
	}
	return due
}

// renewed notes what became of renewals, and returns those that are lost.
func (h *holdings) renewed(handles []string, errs []*queue.Error) (lost []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, handle := range handles {
		held := h.byHandle[handle]
		switch {
		case held == nil || held.settling: // its settlement decides
		case i < len(errs) && errs[i] != nil:
			delete(h.byHandle, handle)
			lost = append(lost, handle)
		default:
			held.until = h.now().Add(h.visibility)
		}
	}
	if len(lost) > 0 {
		h.notify()
	}
	return lost
}

// settle notes that a settlement is under way.
func (h *holdings) settle(handles []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range handles {
		if held := h.byHandle[handle]; held != nil {
			held.settling = true
		}
	}
}

// keep notes that a settlement failed and may be made again.
func (h *holdings) keep(handles []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range handles {
		if held := h.byHandle[handle]; held != nil {
			held.settling = false
		}
	}
}

// settled notes what became of a settlement: what was extended by a time is held
// on, all else is not.
func (h *holdings) settled(handles []string, errs []*queue.Error, extended time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, handle := range handles {
		held := h.byHandle[handle]
		if held != nil && extended > 0 && (i >= len(errs) || errs[i] == nil) {
			held.settling, held.until = false, h.now().Add(extended)
			continue
		}
		delete(h.byHandle, handle)
	}
	h.notify()
}
