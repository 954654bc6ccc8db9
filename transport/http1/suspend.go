package http1

import (
	"net/http"

	"github.com/seriatimq/seriatim/cluster/rendezvous"
)

// Suspender is an http.ResponseWriter whose handler may return before it has answered. A waiting
// request then has no goroutine, whose stack would be most of its memory.
type Suspender interface {
	// Suspend keeps the request open after its handler has returned. rest completes the request. It
	// starts when the handler has returned and resume was called; it never starts if the handler
	// panics. Call resume once, from any goroutine, and soon after the context of the request has
	// ended; it does not block. The header, the URL and the body of the request are gone once the
	// handler has returned. Suspend reports false if the handler has to wait instead.
	Suspend(rest func()) (resume func(), ok bool)
}

// Suspend calls Suspend of a writer that is a Suspender, and reports false for any other.
func Suspend(w http.ResponseWriter, rest func()) (resume func(), ok bool) {
	if s, can := w.(Suspender); can {
		return s.Suspend(rest)
	}
	return nil, false
}

// suspension lets the handler of a request return before it has answered. Its parties are the
// return of the handler and the call of resume.
type suspension struct {
	rendezvous.Rendezvous
	rest func() // completes the request; nil: the request is not suspended
}

// Suspend implements Suspender.
func (a *answer) Suspend(rest func()) (resume func(), ok bool) {
	a.conn.suspension.rest = rest
	return a.conn.resume, true
}

// suspend suspends the connection, unless resume was called already. Of the request, only the data
// that its handler keeps stays in memory.
func (c *conn) suspend() step {
	c.forgetRequest()
	c.request.Header, c.values = nil, nil
	if c.input.start == c.input.end {
		c.releaseBuffer()
	}
	if c.suspension.Suspend() {
		return suspended
	}
	return c.finishSuspended()
}

// resume continues a suspended request.
func (c *conn) resume() {
	if c.suspension.Resume() {
		go c.run(c.finishSuspended)
	}
}

// finishSuspended executes the rest of the handler and sends the answer.
func (c *conn) finishSuspended() step {
	rest := c.suspension.rest
	c.suspension.rest = nil
	if !c.execute(rest) {
		return ended
	}
	return c.finish()
}
