package transport

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// counted reads the body before it calls next, and takes body and answer from the budget. Package http1
// does the same for its requests.
func counted(next http.Handler, b *budget.Bytes, now func() time.Time) http.Handler {
	if b == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			turn := unverified.From(r.Context())
			held := turn.Release()
			body, taken := readBody(w, r, b, now)
			defer func() { b.Release(taken) }()
			turn.Resume(held)
			// net/http needs the original body to find out whether the connection can continue.
			copied := *r
			copied.Body = body
			r = &copied
		}
		counting := &countedWriter{ResponseWriter: w, request: r, budget: b, now: now}
		next.ServeHTTP(counting, r)
		counting.sendHeader()
	})
}

// readBody reads the body of r, and returns the number of bytes taken from the budget. The handler gets
// an error when it reads the body.
func readBody(w http.ResponseWriter, r *http.Request, b *budget.Bytes, now func() time.Time) (read *http1.Body, taken int64) {
	if b.Scarce() {
		// An error means that the connection has no deadlines, as in tests.
		deadlines := http.NewResponseController(w)
		_ = deadlines.SetReadDeadline(now().Add(limits.ScarceTimeout))
		defer func() { _ = deadlines.SetReadDeadline(now().Add(limits.IdleTimeout)) }()
	}
	body := http.MaxBytesReader(w, r.Body, limits.BodyBytesMax)
	buffer := make([]byte, 0, limits.FreeBytes)
	waitUntil := now().Add(budget.WaitMax)
	var err error
	for err == nil {
		if len(buffer) == cap(buffer) {
			more := int64(cap(buffer))
			if err = b.Acquire(r.Context(), more, waitUntil.Sub(now())); err != nil {
				// Read the rest, for clients that write everything before they read the answer.
				b.Release(taken)
				taken, buffer = 0, nil
				_, _ = io.Copy(io.Discard, body)
				break
			}
			taken += more
			buffer = append(make([]byte, 0, 2*cap(buffer)), buffer...)
		}
		var n int
		n, err = body.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return http1.NewBody(buffer, err), taken
}

// taken makes each request take its turn, as package http1 does. A body without a length ends the
// connection, so that server and proxy cannot disagree about its end (RFC 9112, 6.1).
func taken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn := unverified.From(r.Context())
		turn.Begin()
		defer func() { turn.End(max(0, r.ContentLength)) }()
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// countedWriter counts written bytes against the budget until they are sent. Used by one goroutine.
type countedWriter struct {
	http.ResponseWriter
	request *http.Request
	budget  *budget.Bytes
	now     func() time.Time
	status  int  // 0: none yet
	sent    bool // the status was sent
}

// WriteHeader keeps the status for the first Write.
func (w *countedWriter) WriteHeader(status int) {
	if status < http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	if w.status == 0 {
		w.status = status
	}
}

func (w *countedWriter) sendHeader() {
	if w.status != 0 && !w.sent {
		w.sent = true
		w.ResponseWriter.WriteHeader(w.status)
	}
}

// Write sends p. If the budget has no room and nothing was sent yet, it fails with
// budget.ErrExhausted, and the handler may write another, shorter answer.
func (w *countedWriter) Write(p []byte) (int, error) {
	size := int64(len(p))
	if size > limits.FreeBytes {
		if err := w.budget.Acquire(w.request.Context(), size, budget.WaitMax); err != nil {
			w.status = 0
			return 0, err
		}
		defer w.budget.Release(size)
		limit := limits.WriteLimit(size, w.budget.Scarce())
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(w.now().Add(limit))
	}
	w.sendHeader()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
