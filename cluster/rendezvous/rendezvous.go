// Package rendezvous suspends a call without a goroutine. A parked goroutine costs at least 8 KiB of
// stack, which is most of the memory of a waiting receive.
//
// Two parties meet: the goroutine that serves the call, and the event that the call waits for. The
// second one to arrive continues the call. docs/internals/waiting-calls.md describes the calls that
// use it.
package rendezvous

import "sync/atomic"

// Rendezvous is the meeting point of one call. The zero value belongs to a call that runs. A call
// that was continued can be suspended again.
type Rendezvous struct{ state atomic.Int32 }

const (
	running   = iota // a goroutine serves the call
	resumed          // likewise, and the event has happened
	suspended        // no goroutine serves the call
)

// Suspend gives up the call. It reports false if Resume was called since the call began or was
// continued last: then the caller continues the call at once. If it reports true, the call belongs
// to Resume, and the caller must not touch it any more.
func (r *Rendezvous) Suspend() bool {
	if r.state.CompareAndSwap(running, suspended) {
		return true
	}
	r.state.Store(running)
	return false
}

// Resume reports whether the call was suspended: then the caller has to continue it, in a new
// goroutine if it must not block. Only one of several callers gets true. Writes that the caller made before
// Resume are visible to the goroutine that continues the call.
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
