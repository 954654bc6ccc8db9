package http1

import (
	"net/http"
	"sync/atomic"
)

// Suspender is an http.ResponseWriter whose handler may return before it has answered,
// so that a request that waits has no goroutine, whose stack would be most of what it
// costs.
type Suspender interface {
	// Suspend keeps the request open after its handler has returned. rest is what is left
	// to do of the handler; it begins when resume has been called and the handler has
	// returned, or never, if the handler panics. resume is called once, from any
	// goroutine, and does not block; it has to be called soon after the end of the
	// request's context. Header, URL and body of the request are gone once the handler
	// has returned. It reports false if the handler has to wait.
	Suspend(rest func()) (resume func(), ok bool)
}

// Suspend is Suspender's, for any writer.
func Suspend(w http.ResponseWriter, rest func()) (resume func(), ok bool) {
	if s, can := w.(Suspender); can {
		return s.Suspend(rest)
	}
	return nil, false
}

// suspension is that of a request.
type suspension struct {
	rest func() // of the handler; nil: the request is not suspended
	// met counts the return of the handler and the call of resume. Who comes second goes
	// on with the connection.
	met atomic.Int32
}

// Suspend implements Suspender.
func (a *answer) Suspend(rest func()) (resume func(), ok bool) {
	a.conn.suspension.rest = rest
	return a.conn.resume, true
}

// suspend leaves the connection to resume, unless that was called already. Nothing of the
// request stays in memory but what its handler keeps.
func (c *conn) suspend() course {
	c.forgetRequest()
	c.request.Header, c.values = nil, nil
	if c.start == c.end {
		c.releaseBuffer()
	}
	if c.suspension.met.Add(1) < 2 {
		return suspended
	}
	return c.finishSuspended()
}

// resume goes on with a suspended request.
func (c *conn) resume() {
	if c.suspension.met.Add(1) == 2 {
		go c.run(c.finishSuspended)
	}
}

// finishSuspended executes the rest of the handler and sends the answer.
func (c *conn) finishSuspended() course {
	rest := c.suspension.rest
	c.suspension.rest = nil
	c.suspension.met.Store(0)
	if !c.execute(rest) {
		return ended
	}
	return c.finish()
}
