package unverified

import (
	"hash/maphash"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

const (
	// refusalsPerSecond bounds the refused requests of one address in a second, after a burst of
	// refusalsBurst. Clients with a wrong key stay below.
	refusalsPerSecond = 500
	refusalsBurst     = 500
	// refusalWaitMax bounds the time that a connection waits, so that it gets an answer.
	refusalWaitMax = 5 * time.Second
	// refusalBytes is the size that counts as one more request, for computing its hash.
	refusalBytes = 64 << 10
	// addressesMax bounds the counters of addresses. Two addresses may share one.
	addressesMax = 4096
)

// Limiter bounds the work for unverified requests of a port. Safe for concurrent use.
type Limiter struct {
	now   func() time.Time
	ended chan struct{} // closed by Close
	once  sync.Once
	seed  maphash.Seed
	// paid has for each address the time until which its refusals fill the rate, in Unix nanoseconds.
	paid [addressesMax]atomic.Int64

	mu          sync.Mutex
	free        int   // turns
	first, last *Conn // of the line: connections with a waiting request
}

// New returns a Limiter with half of the processors as turns, at least one.
func New(now func() time.Time) *Limiter {
	return &Limiter{now: now, ended: make(chan struct{}), seed: maphash.MakeSeed(), free: max(1, runtime.GOMAXPROCS(0)/2)}
}

// Close ends the waits for refused requests, so that connections can end.
func (l *Limiter) Close() { l.once.Do(func() { close(l.ended) }) }

// Wrap returns a Conn for an accepted connection.
func (l *Limiter) Wrap(accepted net.Conn) *Conn {
	address := maphash.String(l.seed, hostlimit.HostOf(accepted.RemoteAddr()))
	return &Conn{Conn: accepted, limiter: l, paid: &l.paid[address%addressesMax]}
}

// enqueue puts a turn in the line. It needs the mutex.
func (l *Limiter) enqueue(t *Turn) {
	c := t.conn
	c.waiting = append(c.waiting, t)
	if len(c.waiting) == 1 {
		l.append(c)
	}
}

// append puts a connection at the back of the line. It needs the mutex.
func (l *Limiter) append(c *Conn) {
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
}

// dequeue removes the next turn from the line, nil if there is none. It needs the mutex.
func (l *Limiter) dequeue() *Turn {
	c := l.first
	if c == nil {
		return nil
	}
	if l.first, c.next = c.next, nil; l.first == nil {
		l.last = nil
	}
	t := c.waiting[0]
	if c.waiting = append(c.waiting[:0], c.waiting[1:]...); len(c.waiting) > 0 {
		l.append(c)
	}
	return t
}

// release ends a turn if it is held. It needs the mutex.
func (l *Limiter) release(t *Turn) {
	if !t.held.Swap(false) {
		return
	}
	c := t.conn
	for i, held := range c.holding {
		if held == t {
			c.holding = append(c.holding[:i], c.holding[i+1:]...)
			break
		}
	}
	c.holds.Store(int32(len(c.holding))) //nolint:gosec // no more than processors
	if next := l.dequeue(); next != nil {
		next.hold()
		next.ready <- struct{}{}
		return
	}
	l.free++
}

// charge counts a refused request of an address, and returns the time until which the next one waits.
func (l *Limiter) charge(paid *atomic.Int64, size int64) (notBefore int64) {
	cost := (1 + size/refusalBytes) * int64(time.Second/refusalsPerSecond)
	now := l.now().UnixNano()
	for {
		was := paid.Load()
		until := max(was, now-refusalsBurst*int64(time.Second/refusalsPerSecond))
		if until-now > int64(refusalWaitMax) {
			return now + int64(refusalWaitMax)
		}
		if paid.CompareAndSwap(was, until+cost) {
			return until + cost
		}
	}
}
