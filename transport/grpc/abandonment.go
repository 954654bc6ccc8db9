package grpc

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// A session delivers messages while earlier ones are in flight. When one is abandoned, later
// ones may be on their way to the client, and must not be handled before it. So the server
// abandons them, too, and reports them as lost before it answers the abandonment. It finds
// them by the log positions of receives and abandonments.

// abandonment records an executed abandonment.
type abandonment struct {
	index  uint64 // in the log
	lowest uint64 // sequence number of its first message, 0: unknown
}

// abandonments holds the abandonments on a stream that may affect a receive whose messages are not
// sent yet. Safe for concurrent use.
type abandonments struct {
	under sync.Mutex // held during an abandonment; no receive begins meanwhile
	mu    sync.Mutex // also held while the messages of a receive are added to the deliveries
	list  []abandonment
}

// await waits for the end of the abandonment in progress.
func (a *abandonments) await() {
	a.under.Lock()
	defer a.under.Unlock()
}

// passed returns the handles of the received messages that follow a message abandoned since.
// The caller makes them visible; hold gets the others. The index is that of the receive in
// the log, zero if it was repeated.
func (a *abandonments) passed(index uint64, messages []queue.ReceivedMessage, hold func([]queue.ReceivedMessage)) (back []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lowest := uint64(math.MaxUint64)
	for _, done := range a.list {
		// One log entry may hold both. If the receive came after the abandonment, it includes the
		// abandoned message.
		if done.index >= index && !slices.ContainsFunc(messages,
			func(m queue.ReceivedMessage) bool { return uint64(m.Sequence) == done.lowest }) {
			lowest = min(lowest, done.lowest)
		}
	}
	a.list = nil // later receives come after them in the log
	keep := messages[:0:0]
	for _, m := range messages {
		if uint64(m.Sequence) > lowest {
			back = append(back, m.Handle.String())
		} else {
			keep = append(keep, m)
		}
	}
	hold(keep)
	return back
}

// note records an abandonment, and returns the handles that the client holds behind it.
func (a *abandonments) note(done abandonment, h *deliveries) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, done)
	return h.takeBehind(done)
}

// abandonInSession abandons messages, and delivered messages behind them.
func (s *consumer) abandonInSession(ctx context.Context, handles []string) (queue.EntriesDone, error) {
	s.session.abandoned.under.Lock()
	defer s.session.abandoned.under.Unlock()
	done, index, err := s.giveBackAt(ctx, handles)
	if err != nil {
		return done, err
	}
	var given []string
	for i, handle := range handles {
		// A held message without its lock was abandoned by an attempt with an unknown outcome.
		err := done.Errs[i]
		if err == nil || err.Code == refusal.MessageLockLost && s.held.has(handle) {
			given = append(given, handle)
		}
	}
	if len(given) == 0 {
		return done, nil
	}
	lowest := s.held.lowest(given)
	for {
		behind := s.session.abandoned.note(abandonment{index, lowest}, s.held)
		if len(behind) == 0 {
			return done, nil
		}
		lowest = s.held.lowest(behind)
		if _, index, err = s.giveBackAt(ctx, behind); err != nil {
			s.held.keep(behind) // the client abandons again
			return queue.EntriesDone{}, err
		}
		s.held.endSettlement(behind, nil, 0)
		if err := s.sendLost(behind); err != nil {
			return done, err
		}
	}
}

// giveBackAt makes messages visible, and returns the log index of the last command.
func (s *consumer) giveBackAt(ctx context.Context, handles []string) (done queue.EntriesDone, index uint64, err error) {
	done, err = s.inBatches(ctx, handles, limits.BatchEntriesMax, &index, func(batch []string) queue.Command {
		return changeUnderLock(s.call.queue, s.session.ref, batch, 0)
	})
	return done, index, err
}

// lowest returns the lowest sequence number of deliveries, zero if one is unknown because the
// client had it before the stream.
func (h *deliveries) lowest(handles []string) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	lowest := uint64(math.MaxUint64)
	for _, handle := range handles {
		held := h.byHandle[handle]
		if held == nil {
			return 0
		}
		lowest = min(lowest, held.sequence)
	}
	return lowest
}

// takeBehind returns the handles of the messages behind an abandonment that were received
// before it, and marks them as in settlement.
func (h *deliveries) takeBehind(done abandonment) (behind []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	received := done.index // a receive in this entry came first, unless it returned the message
	for _, held := range h.byHandle {
		if held.sequence == done.lowest && held.index == done.index {
			received--
			break
		}
	}
	for handle, held := range h.byHandle {
		if !held.settling && held.sequence > done.lowest && held.index <= received {
			held.settling = true
			behind = append(behind, handle)
		}
	}
	slices.Sort(behind)
	return behind
}

// hold adds messages that were received at an index of the log.
func (h *deliveries) hold(messages []queue.ReceivedMessage, index uint64, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range messages {
		h.byHandle[m.Handle.String()] = &delivery{until: until, sequence: uint64(m.Sequence), index: index}
	}
}
