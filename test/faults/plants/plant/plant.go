// Package plant switches on planted bugs by their numbers in test/faults. It also tells an edit
// the time of its machine and whether its node leads.
package plant

import "sync/atomic"

var (
	planted atomic.Int32 // number of the bug of this process
	leading atomic.Bool
	now     atomic.Pointer[func() int64]
)

// Is reports whether bug number n was planted.
func Is(n int) bool { return planted.Load() == int32(n) }

// Follower reports whether bug number n was planted and this process does not lead.
func Follower(n int) bool { return Is(n) && !leading.Load() }

// Set plants bug number n, 0 none. clock is the time of this machine in milliseconds
// since 1970. It is called before a node starts.
func Set(n int, clock func() int64) {
	now.Store(&clock)
	planted.Store(int32(n))
}

// Lead notes whether this process leads.
func Lead(leads bool) { leading.Store(leads) }

// Now returns the time of this machine, which rules normally must not read.
func Now() int64 { return (*now.Load())() }
