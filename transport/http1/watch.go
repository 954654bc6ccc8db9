package http1

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// watchAfter is how long a request takes before the connection is watched for
// the client's leaving. Most are answered before; one who leaves earlier is
// noticed at the end of it.
const watchAfter = 50 * time.Millisecond

// peerWatch notices that the client of a slow request has left, by reading from
// its connection: nothing else is to come until it is answered. Where the system
// tells when there is something to read, it does so for all connections that wait, and
// none has a goroutine for it.
type peerWatch struct {
	conn   *conn
	timer  *time.Timer // nil before the first request
	active bool
	ended  chan struct{} // capacity 1: the one end of run
	peeked [1]byte       // the beginning of the next request
	n      int
	gone   bool

	mu     sync.Mutex
	stage  watchStage
	late   int             // times that the timer fired for a request that has ended
	socket syscall.RawConn // nil before it is first needed
	id     uint32          // among the departures
}

type watchStage uint8

const (
	unwatched watchStage = iota
	watched              // the departures tell
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

// watch has the timer's goroutine.
func (w *peerWatch) watch() {
	w.mu.Lock()
	if w.late > 0 {
		w.late--
		w.mu.Unlock()
		return
	}
	if w.conn.server.departures.add(w) {
		w.stage = watched
		w.mu.Unlock()
		return
	}
	w.stage = reading
	w.mu.Unlock()
	w.run()
}

// readable reads what the departures have told of, unless the request has ended.
func (w *peerWatch) readable(id uint32) {
	w.mu.Lock()
	ours := w.stage == watched && w.id == id
	if ours {
		w.stage = reading
	}
	w.mu.Unlock()
	if ours {
		w.run()
	}
}

// run reads until something comes, the client is gone, or end interrupts it,
// which waits for it.
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
		interrupted := c.setReadDeadline(time.Unix(1, 0)) // fails only on a closed connection, which ends the read as well
		<-w.ended
		w.mu.Lock()
		w.stage = unwatched
		w.mu.Unlock()
		if interrupted != nil || w.gone {
			return true
		}
		if w.n > 0 {
			if c.makeRoom(0) != nil {
				return true
			}
			c.buffer[c.end] = w.peeked[0]
			c.end++
		}
	}
	return c.extendToIdle(c.server.Now()) != nil
}

// interrupt ends the watch unless it is reading, which it reports.
func (w *peerWatch) interrupt() (isReading bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.stage {
	case unwatched:
		w.late++ // the timer's goroutine has not come so far
	case watched:
		w.conn.server.departures.remove(w)
		w.stage = unwatched
	case reading:
		return true
	}
	return false
}
