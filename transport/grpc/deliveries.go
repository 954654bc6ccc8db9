package grpc

import (
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue"
)

// delivery is one message that the client holds.
type delivery struct {
	until    time.Time // end of its visibility timeout
	settling bool      // a settlement is in progress
	sequence uint64    // 0: unknown
	index    uint64    // of its receive in the log; 0: unknown, or a repeated receive
}

// deliveries are the messages that the client of a stream holds. Safe for concurrent use.
type deliveries struct {
	visibility time.Duration
	now        func() time.Time
	changed    chan struct{} // capacity 1: room may have grown

	mu       sync.Mutex
	credit   int
	byHandle map[string]*delivery
}

func newDeliveries(credit int, visibilitySeconds int32, now func() time.Time) *deliveries {
	return &deliveries{
		credit: credit, visibility: time.Duration(visibilitySeconds) * time.Second, now: now,
		changed: make(chan struct{}, 1), byHandle: make(map[string]*delivery),
	}
}

// room returns the unused credit.
func (h *deliveries) room() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.credit - len(h.byHandle)
}

func (h *deliveries) setCredit(credit int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.credit = credit
	h.notify()
}

// notify wakes the receiver, because room may have grown.
func (h *deliveries) notify() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// add adds deliveries that the client received over an earlier stream.
func (h *deliveries) add(handles []string, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range handles {
		h.byHandle[handle] = &delivery{until: until}
	}
}

// has reports whether the client holds a delivery.
func (h *deliveries) has(handle string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byHandle[handle] != nil
}

// all returns the handles of all deliveries.
func (h *deliveries) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	handles := make([]string, 0, len(h.byHandle))
	for handle := range h.byHandle {
		handles = append(handles, handle)
	}
	return handles
}

// due returns the handles to renew: those with less than two thirds of their time left. A
// renewal after each third then has a second chance.
func (h *deliveries) due() []string {
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

// renewed applies the results of renewals, and returns the handles that are lost.
func (h *deliveries) renewed(handles []string, errs []*queue.Error) (lost []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, handle := range handles {
		held := h.byHandle[handle]
		switch {
		case held == nil || held.settling:
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

// beginSettlement marks deliveries in settlement, which are not renewed.
func (h *deliveries) beginSettlement(handles []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range handles {
		if held := h.byHandle[handle]; held != nil {
			held.settling = true
		}
	}
}

// keep clears the mark after a settlement that failed and may be repeated.
func (h *deliveries) keep(handles []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handle := range handles {
		if held := h.byHandle[handle]; held != nil {
			held.settling = false
		}
	}
}

// endSettlement removes deliveries after their settlement, or extends them by a time.
func (h *deliveries) endSettlement(handles []string, errs []*queue.Error, extended time.Duration) {
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
