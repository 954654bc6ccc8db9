package grpc

import (
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue"
)

// holding is one delivery that the client holds.
type holding struct {
	until    time.Time // when it is visible again, unless renewed
	settling bool      // a settlement is under way
	sequence uint64    // 0: unknown
	index    uint64    // where in the log it was received; 0: unknown, or made again
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

// room returns the number of further deliveries that the client takes.
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

// has reports whether the client holds a delivery.
func (h *holdings) has(handle string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byHandle[handle] != nil
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
