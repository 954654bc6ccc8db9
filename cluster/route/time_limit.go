package route

import (
	"sync/atomic"
	"time"
)

// timeLimit ends calls that take too long. All calls that begin within one part of the limit share an
// end, so few calls make a timer or a context of their own, which would cost about 2 us for each
// send. A call gets its full time, and up to a part more.
type timeLimit struct {
	timeout time.Duration
	over    atomic.Pointer[chan struct{}] // of the calls that begin now; nil: there is none
}

// timeLimitParts is the number of ends within the limit.
const timeLimitParts = 32

// begin returns a channel that is closed when the time for a call that begins now is over.
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
