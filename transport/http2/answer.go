package http2

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/limits"
)

// pendingMax bounds the part of a body that waits for the end of the handler, to be sent with the
// header and the trailers.
const pendingMax = limits.FreeBytes

// answer is an http.ResponseWriter with the methods for http.ResponseController. Used by one
// goroutine.
type answer struct {
	st       *stream
	header   http.Header
	block    []byte // encoded header, not sent yet
	ending   []byte // encoded trailers so far
	pending  []byte // of the body
	declared int64  // length, below zero if unknown
	size     int64  // of the body so far
	trailers []string

	// The progress of the answer.
	status   int // 0: none yet
	typed    bool
	bodiless bool // the status permits no body
	sent     bool // the header was sent
}

// reset prepares the answer for another request.
func (a *answer) reset() {
	clear(a.header)
	*a = answer{st: a.st, header: a.header, block: kept(a.block), pending: kept(a.pending), ending: kept(a.ending),
		trailers: a.trailers[:0]}
}

// AddTrailer adds a trailer. It costs less than a header with http.TrailerPrefix.
func (a *answer) AddTrailer(name, value string) { a.ending = appendField(a.ending, name, value) }

// Header returns the header of the answer.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = make(http.Header, 8)
	}
	return a.header
}

// WriteHeader sets the status and encodes the header. Only the first call counts.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < http.StatusOK {
		return
	}
	a.status, a.declared = status, -1
	a.bodiless = status == http.StatusNoContent || status == http.StatusNotModified
	for _, list := range a.header["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			a.trailers = append(a.trailers, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	b := appendStatus(a.block[:0], status)
	for name, values := range a.header {
		switch {
		case name == "Content-Length" && len(values) > 0:
			if n, err := strconv.ParseUint(values[0], 10, 62); err == nil {
				a.declared = int64(n)
			}
		case name == "Content-Type" || name == "Content-Encoding":
			a.typed = true
		case name == "Connection" || name == "Keep-Alive" || name == "Proxy-Connection" || name == "Transfer-Encoding" || name == "Upgrade":
			continue // not in HTTP/2
		case strings.HasPrefix(name, http.TrailerPrefix) || slices.Contains(a.trailers, name):
			continue
		}
		for _, value := range values {
			b = appendField(b, name, value)
		}
	}
	if _, ok := a.header["Date"]; !ok {
		b = appendField(b, "date", a.st.conn.server.Now().UTC().Format(http.TimeFormat))
	}
	a.block = b
}

// Write adds to the body. Large parts are sent when Write returns.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.bodiless {
		return 0, http.ErrBodyNotAllowed
	}
	if a.size += int64(len(p)); a.declared >= 0 && a.size > a.declared {
		return 0, http.ErrContentLength
	}
	if a.st.request.Method == http.MethodHead {
		a.describe(p)
		return len(p), nil
	}
	if len(a.pending)+len(p) <= pendingMax {
		a.pending = append(a.pending, p...)
		return len(p), nil
	}
	if len(a.pending) > 0 {
		if err := a.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) <= pendingMax {
		a.pending = append(a.pending, p...)
		return len(p), nil
	}
	if err := a.send(p, nil, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// describe adds a content type by the beginning of the body, unless the header has one.
func (a *answer) describe(p []byte) {
	if !a.typed && !a.sent && len(p) > 0 {
		a.typed = true
		a.block = appendField(a.block, "content-type", http.DetectContentType(p))
	}
}

// FlushError sends the written bytes.
func (a *answer) FlushError() error {
	a.WriteHeader(http.StatusOK)
	return a.flush()
}

// Flush sends the written bytes.
func (a *answer) Flush() { _ = a.FlushError() } // Write returns the error, too

// flush sends the header and pending bytes.
func (a *answer) flush() error {
	if a.sent && len(a.pending) == 0 {
		return nil
	}
	err := a.send(a.pending, nil, false)
	a.pending = a.pending[:0]
	return err
}

// SetReadDeadline bounds the wait for the body; the zero time means no bound.
func (a *answer) SetReadDeadline(until time.Time) error {
	a.st.conn.mu.Lock()
	defer a.st.conn.mu.Unlock()
	a.st.readUntil = until
	a.st.changed.Broadcast()
	return nil
}

// SetWriteDeadline bounds the wait for a client that does not read. With the zero time the bound
// is limits.WriteLimit of each write.
func (a *answer) SetWriteDeadline(until time.Time) error {
	a.st.conn.mu.Lock()
	defer a.st.conn.mu.Unlock()
	a.st.writeUntil = until
	a.st.changed.Broadcast()
	return nil
}

// EnableFullDuplex does nothing: the body can be read after the answer has begun.
func (a *answer) EnableFullDuplex() error { return nil }

// finish sends the rest of the answer when the handler has returned.
func (a *answer) finish() error {
	a.WriteHeader(http.StatusOK)
	if a.declared >= 0 && a.size < a.declared && a.st.request.Method != http.MethodHead && !a.bodiless {
		return http.ErrContentLength
	}
	trailers := a.ending
	for name, values := range a.header {
		bare, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		if !prefixed && !slices.Contains(a.trailers, name) {
			continue
		}
		for _, value := range values {
			trailers = appendField(trailers, bare, value)
		}
	}
	if !a.sent && a.declared < 0 && !a.bodiless && len(trailers) == 0 &&
		(a.st.request.Method != http.MethodHead || 0 < a.size && a.size <= pendingMax) {
		a.block = appendField(a.block, "content-length", strconv.FormatInt(a.size, 10))
	}
	a.ending = trailers
	return a.send(a.pending, trailers, true)
}

// send sends a part of the body, after the header. If the part is large, it returns when the kernel
// has it, so that the bytes count against the budget until then.
func (a *answer) send(data, trailers []byte, last bool) error {
	st := a.st
	c := st.conn
	a.describe(data)
	large, empty := len(data) > limits.FreeBytes, len(data) == 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.lost != nil {
		return st.lost
	}
	ended := false
	if !a.sent {
		ended = last && empty && len(trailers) == 0
		c.queueHeaders(st.id, a.block, ended)
		a.sent, st.body.expected = true, false
	}
	until := st.writeUntil
	if len(data) > 0 && until.IsZero() {
		until = c.server.Now().Add(limits.WriteLimit(int64(len(data)), c.server.Budget.Scarce()))
	}
	for len(data) > 0 {
		n := min(int64(len(data)), st.window, c.output.window, frameBytesMax)
		if n <= 0 {
			if err := a.awaitWindow(until); err != nil {
				return err
			}
			continue
		}
		st.window -= n
		c.output.window -= n
		c.output.queued = appendData(c.output.queued, st.id, data[:n], last && len(trailers) == 0 && n == int64(len(data)))
		c.output.updates += updatesOfData
		data = data[n:]
		if len(c.output.queued) > outputMax {
			if err := c.flush(false); err != nil {
				return err
			}
		}
		if st.lost != nil {
			return st.lost
		}
	}
	switch {
	case last && len(trailers) > 0:
		c.queueHeaders(st.id, trailers, true)
	case last && empty && !ended:
		c.output.queued = appendData(c.output.queued, st.id, nil, true)
	}
	if last {
		c.conclude(st)
	}
	return c.flush(large)
}

// awaitWindow waits for a window update of the client. It needs the mutex, and releases it while
// it waits.
func (a *answer) awaitWindow(until time.Time) error {
	st := a.st
	st.turn.Release()
	st.conn.pass() // another goroutine must read the update
	if err := st.conn.flush(false); err != nil {
		return err
	}
	for st.lost == nil && min(st.window, st.conn.output.window) <= 0 {
		if err := st.await(until); err != nil {
			return os.ErrDeadlineExceeded
		}
	}
	return st.lost
}
