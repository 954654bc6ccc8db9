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
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// In a session further messages are handed out while earlier ones are in flight, so when
// one is abandoned, later ones may be on their way to the client. They would pass the one
// that comes again. So they are abandoned with it, and named as lost before the
// abandonment is answered. Where in the log the receives and the abandonments stand says
// which these are.

// abandonment is one that was carried out.
type abandonment struct {
	index  uint64 // in the log
	lowest uint64 // number of the first message that it gave back, 0: unknown
}

// abandonments are those of a stream that may concern a receive whose messages are not
// sent yet. Safe for concurrent use.
type abandonments struct {
	under sync.Mutex // held by the one under way; no receive begins meanwhile
	mu    sync.Mutex // also held while the messages of a receive become held
	list  []abandonment
}

// await waits for the end of the one under way.
func (a *abandonments) await() {
	a.under.Lock()
	defer a.under.Unlock()
}

// passed are the messages of a receive that were to come after what was abandoned since,
// which are to be given back; hold is called with the others. The index is where in the
// log the receive stands, zero if it was made again.
func (a *abandonments) passed(index uint64, messages []queue.ReceivedMessage, hold func([]queue.ReceivedMessage)) (back []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lowest := uint64(math.MaxUint64)
	for _, done := range a.list {
		// One log entry may hold both. What follows an abandonment begins with its message.
		if done.index >= index && !slices.ContainsFunc(messages, func(m queue.ReceivedMessage) bool { return uint64(m.Sequence) == done.lowest }) {
			lowest = min(lowest, done.lowest)
		}
	}
	a.list = nil // receives follow each other in the log, so they concern no later one
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

// note notes an abandonment, and returns what the client holds behind it.
func (a *abandonments) note(done abandonment, h *holdings) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, done)
	return h.takeBehind(done)
}

// abandonInSession abandons messages, and those behind them that were delivered.
func (s *consumer) abandonInSession(ctx context.Context, handles []string) (queue.EntriesDone, error) {
	s.session.abandoned.under.Lock()
	defer s.session.abandoned.under.Unlock()
	done, index, err := s.giveBackAt(ctx, handles)
	if err != nil {
		return done, err
	}
	var given []string
	for i, handle := range handles {
		// One that is held and has lost its lock was given back by an attempt whose outcome
		// was unknown.
		err := done.Errs[i]
		if err == nil || err.Code == refusal.MessageLockLost && s.holdings.has(handle) {
			given = append(given, handle)
		}
	}
	if len(given) == 0 {
		return done, nil
	}
	lowest := s.holdings.lowest(given)
	for {
		behind := s.session.abandoned.note(abandonment{index, lowest}, s.holdings)
		if len(behind) == 0 {
			return done, nil
		}
		lowest = s.holdings.lowest(behind)
		if _, index, err = s.giveBackAt(ctx, behind); err != nil {
			s.holdings.keep(behind) // the client abandons again
			return queue.EntriesDone{}, err
		}
		s.holdings.settled(behind, nil, 0)
		if err := s.send(&seriatimpb.ConsumeResponse{Response: &seriatimpb.ConsumeResponse_Lost{Lost: &seriatimpb.Lost{ReceiptHandles: behind}}}); err != nil {
			return done, err
		}
	}
}

// giveBackAt makes messages visible, and says where in the log the last of that stands.
func (s *consumer) giveBackAt(ctx context.Context, handles []string) (done queue.EntriesDone, index uint64, err error) {
	done, err = s.inBatches(ctx, handles, limits.BatchEntriesMax, &index, func(batch []string) queue.Command {
		return changeUnderLock(s.call.queue, s.session.ref, batch, 0)
	})
	return done, index, err
}

// lowest is the lowest number of messages that are held, zero if one is unknown, as are
// those that the client had before the stream.
func (h *holdings) lowest(handles []string) uint64 {
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

// takeBehind are the handles of what was received before an abandonment, and is to come
// after it. They are being settled from now on.
func (h *holdings) takeBehind(done abandonment) (behind []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	received := done.index // what stands there came before, unless the message came again with it
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

// hold notes messages that the client holds from now on, received at an index of the log.
func (h *holdings) hold(messages []queue.ReceivedMessage, index uint64, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range messages {
		h.byHandle[m.Handle.String()] = &holding{until: until, sequence: uint64(m.Sequence), index: index}
	}
}
