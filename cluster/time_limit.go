package cluster

import (
	"sync/atomic"
	"time"
)

// timeLimit ends calls that take too long. All calls that begin within a part of the
// limit share one end, so that hardly any call makes a timer, or a context of its own:
// those were 2 us of each send. A call gets its full time, and up to a part more.
type timeLimit struct {
	timeout time.Duration
	over    atomic.Pointer[chan struct{}] // of the calls that begin now; nil: there is none
}

// timeLimitParts is how many ends a full limit of calls has.
const timeLimitParts = 32

// begin returns what is closed when the time of a call that begins now is over.
func (l *timeLimit) begin() <-chan struct{} {
	if over := l.over.Load(); over != nil {
		return *over
	}
	over := make(chan struct{})
	part := l.timeout / timeLimitParts
	if !l.over.CompareAndSwap(nil, &over) {
		return l.begin()
	}
	time.AfterFunc(part, func() { l.over.Store(nil) })
	time.AfterFunc(l.timeout+part, func() { close(over) })
	return over
}
