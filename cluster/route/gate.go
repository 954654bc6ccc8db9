package route

import (
	"context"
	"fmt"
	"sync"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// ErrClosing is the error of calls to a node that stops.
var ErrClosing = fmt.Errorf("%w: this node is stopping", fault.ErrUnavailable)

// Gate counts the calls in progress and refuses new ones once it is closed. The zero value is
// open.
type Gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when the Gate is closed and no call is in progress
}

// Enter counts a call, which must Leave, or returns false if the Gate is closed.
func (g *Gate) Enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// Leave ends a call.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// Close refuses new calls.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	g.empty = make(chan struct{})
	if g.inside == 0 {
		close(g.empty)
	}
}

// Drained waits until no call is in progress at the closed Gate, or ctx ends.
func (g *Gate) Drained(ctx context.Context) {
	select {
	case <-g.empty:
	case <-ctx.Done():
	}
}
