// Package rendezvous suspends a call without a goroutine: a parked goroutine costs at least 8 KiB
// of stack, which is most of the memory of a waiting receive. docs/internals/waiting-calls.md
// describes the calls.
package rendezvous

import "sync/atomic"

// Rendezvous is the meeting point of two parties: the goroutine that serves a call, and the event
// that the call waits for. The second party to arrive continues the call. The zero value belongs to
// a running call. A continued call can be suspended again.
type Rendezvous struct{ state atomic.Int32 }

const (
	running   = iota // a goroutine serves the call
	resumed          // likewise, and the event has happened
	suspended        // no goroutine serves the call
)

// Suspend gives up the call. If it reports true, the call belongs to the caller of Resume, and must
// not be touched any more. It reports false if Resume was already called: then continue the call.
func (r *Rendezvous) Suspend() bool {
	if r.state.CompareAndSwap(running, suspended) {
		return true
	}
	r.state.Store(running)
	return false
}

// Resume reports whether the call was suspended: then continue it, in a new goroutine if you must
// not block. Only one of several callers gets true. Writes before Resume are visible to the
// goroutine that continues the call.
func (r *Rendezvous) Resume() bool {
	for {
		switch r.state.Load() {
		case suspended:
			if r.state.CompareAndSwap(suspended, running) {
				return true
			}
		case running:
			if r.state.CompareAndSwap(running, resumed) {
				return false
			}
		default:
			return false
		}
	}
}
