package forward

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// departureGrace bounds the wait for an answer after another node became the leader. A live node
// answers at once when it loses leadership; one that hangs or is cut off never does.
const departureGrace = 500 * time.Millisecond

// pendingCall is a request sent to another node. The mu of its Link protects sent and grace.
type pendingCall struct {
	complete func(leader.Outcome) // called once
	waits    bool                 // a receive
	sent     bool                 // passed to the stream: it may take effect
	grace    *time.Timer          // ends its departureGrace; nil before that
}

func (c *pendingCall) stopGrace() {
	if c.grace != nil {
		c.grace.Stop()
	}
}

// Call sends a request and waits for its outcome.
func (l *Link) Call(ctx context.Context, request Request) leader.Outcome {
	done := make(chan leader.Outcome, 1) // never blocks
	id := l.Begin(request, func(o leader.Outcome) { done <- o })
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
	case <-request.Over:
	}
	l.Abandon(id)
	return <-done
}

// Begin sends a request. It calls complete with the outcome once, possibly before it returns;
// complete must not block.
func (l *Link) Begin(request Request, complete func(leader.Outcome)) (id uint64) {
	r := request.wire()
	if refused := l.start(r, complete); refused != 0 {
		complete(leader.Outcome{Verdict: refused})
		return 0
	}
	// watch may have seen the change before this call was added.
	if id, _ := l.options.Leads(); l.replaced(id) {
		l.beginGraces()
	}
	select {
	case <-l.options.Closing:
		l.cancelReceives()
	default:
	}
	return r.Id
}

// start numbers and enqueues a request, or returns the reason for a refusal.
func (l *Link) start(r *peerpb.Request, complete func(leader.Outcome)) (refused leader.Verdict) {
	bytesMax, commandsMax := l.options.Limits.Room(leader.Essential(r.Command))
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.life.Err() != nil:
		return leader.NotProposed
	case len(l.calls) >= commandsMax,
		l.bytes+len(r.Command) > bytesMax && len(l.outbox) > 0:
		return leader.Overloaded
	}
	l.lastID++
	r.Id = l.lastID
	l.calls[r.Id] = &pendingCall{complete: complete, waits: r.Kind == Receive}
	if r.Kind != Receive {
		l.unanswered++
		l.expectAnswers()
	}
	l.enqueue(r)
	if !l.open {
		l.open = true
		l.running.Go(l.session)
	}
	return 0
}

// Abandon completes a pending request: as unknown if it was sent, otherwise as expired.
func (l *Link) Abandon(id uint64) {
	l.mu.Lock()
	c := l.take(id)
	sent := c != nil && c.sent
	if sent {
		l.enqueue(&peerpb.Request{Id: id, Kind: cancelRequest})
	}
	l.mu.Unlock()
	switch {
	case c == nil:
	case sent:
		c.complete(leader.Outcome{Verdict: leader.Unknown})
	default:
		c.complete(leader.Outcome{Verdict: leader.Expired}) // takeFrame skips it
	}
}

// take removes a call that is about to be completed; nil if there is none. The caller holds mu.
func (l *Link) take(id uint64) *pendingCall {
	c := l.calls[id]
	if c != nil {
		delete(l.calls, id)
		if !c.waits {
			l.unanswered--
		}
		c.stopGrace()
	}
	return c
}

// watch ends calls that the other node may not answer any more, until ctx ends.
func (l *Link) watch(ctx context.Context) {
	closing := l.options.Closing
	for {
		id, changed := l.options.Leads()
		if l.replaced(id) {
			l.beginGraces()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-closing:
			closing = nil
			l.cancelReceives()
		}
	}
}

// replaced reports whether another node than that of this link leads.
func (l *Link) replaced(by string) bool { return by != "" && by != l.options.NodeID }

// beginGraces begins the departureGrace of all calls.
func (l *Link) beginGraces() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.calls { // order does not matter
		l.beginGrace(id, c)
	}
}

// cancelReceives asks the other node to cancel receives that it has not proposed.
func (l *Link) cancelReceives() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.calls { // order does not matter
		if c.waits && c.grace == nil {
			l.enqueue(&peerpb.Request{Id: id, Kind: cancelRequest})
			l.beginGrace(id, c)
		}
	}
}

// beginGrace begins the departureGrace of a call. The caller holds mu.
func (l *Link) beginGrace(id uint64, c *pendingCall) {
	if c.grace == nil {
		c.grace = time.AfterFunc(departureGrace, func() { l.Abandon(id) })
	}
}
