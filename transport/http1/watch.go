package http1

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// watchAfter is the time after which the connection of a request is watched. Most requests are
// answered before.
const watchAfter = 50 * time.Millisecond

// peerWatch detects that the client of a slow request has left by reading from the connection,
// on which no other input is due before the answer. Where departures can poll the connection,
// the watch needs no goroutine.
type peerWatch struct {
	conn   *conn
	timer  *time.Timer // nil before the first request
	active bool
	ended  chan struct{} // capacity 1: run has returned
	peeked [1]byte       // the beginning of the next request
	n      int
	gone   bool

	mu     sync.Mutex
	state  watchState
	late   int             // firings of the timer for requests that have ended
	socket syscall.RawConn // nil before it is first needed
	id     uint32          // among the departures
}

type watchState uint8

const (
	unwatched watchState = iota
	watched              // departures polls the connection
	reading              // run reads, or is about to
)

func (w *peerWatch) begin() {
	w.n, w.gone, w.active = 0, false, true
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, w.watch)
		return
	}
	w.timer.Reset(watchAfter)
}

// watch runs in the goroutine of the timer.
func (w *peerWatch) watch() {
	w.mu.Lock()
	if w.late > 0 {
		w.late--
		w.mu.Unlock()
		return
	}
	if w.conn.server.departures.add(w) {
		w.state = watched
		w.mu.Unlock()
		return
	}
	w.state = reading
	w.mu.Unlock()
	w.run()
}

// readable reads from a connection that departures found readable, unless the request has ended.
func (w *peerWatch) readable(id uint32) {
	w.mu.Lock()
	ours := w.state == watched && w.id == id
	if ours {
		w.state = reading
	}
	w.mu.Unlock()
	if ours {
		w.run()
	}
}

// run reads until input comes, the client leaves, or end interrupts it.
func (w *peerWatch) run() {
	defer func() { w.ended <- struct{}{} }()
	defer w.conn.recoverPanic()
	n, err := w.conn.conn.Read(w.peeked[:])
	w.n = n
	if n == 0 && err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.gone = true
		w.conn.cancel()
	}
}

// end ends the watch and reports whether the client is gone.
func (w *peerWatch) end() (gone bool) {
	if !w.active {
		return false
	}
	w.active = false
	if w.timer.Stop() {
		return false
	}
	c := w.conn
	if w.interrupt() {
		interrupted := c.setReadDeadline(time.Unix(1, 0)) // fails only on a closed connection, which ends the read, too
		<-w.ended
		w.mu.Lock()
		w.state = unwatched
		w.mu.Unlock()
		if interrupted != nil || w.gone {
			return true
		}
		if w.n > 0 {
			if c.makeRoom(0) != nil {
				return true
			}
			c.input.buffer[c.input.end] = w.peeked[0]
			c.input.end++
		}
	}
	return c.extendToIdle(c.server.Now()) != nil
}

// interrupt ends the watch unless it reads, which it reports.
func (w *peerWatch) interrupt() (isReading bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case unwatched:
		w.late++ // the timer has fired, and watch has not begun
	case watched:
		w.conn.server.departures.remove(w)
		w.state = unwatched
	case reading:
		return true
	}
	return false
}
