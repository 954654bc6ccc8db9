package forward

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// departureGrace is how long a call still hopes for an answer of a node that
// another has replaced as leader. A node that is alive answers at once when it
// loses leadership; one that is cut off or hung never does.
const departureGrace = 500 * time.Millisecond

// pendingCall is one request that another node executes. It has the mu of its link, but
// what is set when it is made.
type pendingCall struct {
	complete func(leader.Outcome) // takes the only outcome
	waits    bool                 // it is a receive
	sent     bool                 // handed to the stream, so that it may take effect
	grace    *time.Timer          // ends its departureGrace; nil: that has not begun
}

func (c *pendingCall) stopGrace() {
	if c.grace != nil {
		c.grace.Stop()
	}
}

// Call sends a request and waits for its outcome.
func (l *Link) Call(ctx context.Context, request Request) leader.Outcome {
	done := make(chan leader.Outcome, 1) // the only outcome
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

// Begin sends a request. complete takes its outcome, once and maybe before Begin returns;
// it must not block.
func (l *Link) Begin(request Request, complete func(leader.Outcome)) (id uint64) {
	r := request.wire()
	if refused := l.start(r, complete); refused != 0 {
		complete(leader.Outcome{Verdict: refused})
		return 0
	}
	// What watch has noticed by now it has told the calls before this one only.
	if id, _ := l.options.Leads(); l.replaced(id) {
		l.doubt()
	}
	select {
	case <-l.options.Closing:
		l.withdraw()
	default:
	}
	return r.Id
}

// start queues a request, whose id is set here, or says why not.
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

// Abandon gives up on a request unless it has an outcome: it gets what has become of it by
// now.
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

// take takes a call out whose outcome is known; nil if it has been. The caller holds mu.
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

// watch sees to calls that the other node may not answer any more, until ctx ends.
func (l *Link) watch(ctx context.Context) {
	closing := l.options.Closing
	for {
		id, changed := l.options.Leads()
		if l.replaced(id) {
			l.doubt()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-closing:
			closing = nil
			l.withdraw()
		}
	}
}

// replaced reports whether another node leads than the one this link is to. Whoever leads
// next, that one has to be asked anew.
func (l *Link) replaced(by string) bool { return by != "" && by != l.options.NodeID }

// doubt begins the departureGrace of all calls.
func (l *Link) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.calls { // order does not matter: each is its own
		l.beginGrace(id, c)
	}
}

// withdraw asks the other node to give up on receives it has not proposed, and to say so.
func (l *Link) withdraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.calls { // order does not matter: each is its own
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
