package http1

import (
	"errors"
	"os"
	"time"
)

// watchAfter is how long a request takes before the connection is watched for
// the client's leaving. Most are answered before; one who leaves earlier is
// noticed at the end of it.
const watchAfter = 50 * time.Millisecond

// peerWatch notices that the client of a slow request has left, by reading from
// its connection: nothing else is to come until it is answered.
type peerWatch struct {
	conn   *conn
	timer  *time.Timer // nil before the first request
	active bool
	ended  chan struct{} // capacity 1: the one end of what the timer started
	peeked [1]byte       // the beginning of the next request
	n      int
	gone   bool
}

func (w *peerWatch) begin() {
	w.n, w.gone, w.active = 0, false, true
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, w.run)
		return
	}
	w.timer.Reset(watchAfter)
}

// run reads until something comes, the client is gone, or end interrupts it. It
// has the timer's goroutine; end waits for it.
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
	interrupted := c.setReadDeadline(time.Unix(1, 0)) // fails only on a closed connection, which ends the read as well
	<-w.ended
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
	return c.extendToIdle(c.server.Now()) != nil
}
