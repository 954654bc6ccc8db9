package transport

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
)

// counted does for the requests that net/http serves what package http1 does
// for the others: it reads the body before next is called, and takes body and
// answer from the budget.
func counted(next http.Handler, b *budget.Bytes, now func() time.Time) http.Handler {
	if b == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			taken := readBody(w, r, b, now)
			defer func() { b.Release(taken) }()
		}
		counting := &countedWriter{ResponseWriter: w, request: r, budget: b, now: now}
		next.ServeHTTP(counting, r)
		counting.sendHeader()
	})
}

// readBody replaces the body of r by one that was read, and returns how many
// bytes of the budget that takes. What is wrong with the body the handler finds
// out when it reads it.
func readBody(w http.ResponseWriter, r *http.Request, b *budget.Bytes, now func() time.Time) (taken int64) {
	if b.Scarce() {
		// An error means that the connection has no deadlines, as in tests.
		deadlines := http.NewResponseController(w)
		_ = deadlines.SetReadDeadline(now().Add(http1.ScarceTimeout))
		defer func() { _ = deadlines.SetReadDeadline(now().Add(http1.IdleTimeout)) }()
	}
	body := http.MaxBytesReader(w, r.Body, http1.BodyBytesMax)
	buffer := make([]byte, 0, http1.FreeBytes)
	waitUntil := now().Add(budget.WaitMax)
	var err error
	for err == nil {
		if len(buffer) == cap(buffer) {
			more := int64(cap(buffer))
			if err = b.Acquire(r.Context(), more, waitUntil.Sub(now())); err != nil {
				// The client, which may read nothing before it has written
				// all, gets its answer.
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
	r.Body = http1.NewBody(buffer, err)
	return taken
}

// countedWriter takes what is written from the budget until it is sent. Used by
// one goroutine.
type countedWriter struct {
	http.ResponseWriter
	request *http.Request
	budget  *budget.Bytes
	now     func() time.Time
	status  int  // 0: none yet
	sent    bool // the status is
}

// WriteHeader notes the status, which is sent with the first bytes of the body.
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

// Write sends p. If there is no room for it and nothing was sent yet, it fails
// with budget.ErrExhausted, and the handler may write another, shorter answer.
func (w *countedWriter) Write(p []byte) (int, error) {
	size := int64(len(p))
	if size > http1.FreeBytes {
		if err := w.budget.Acquire(w.request.Context(), size, budget.WaitMax); err != nil {
			w.status = 0
			return 0, err
		}
		defer w.budget.Release(size)
		limit := http1.WriteLimit(size, w.budget.Scarce())
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(w.now().Add(limit))
	}
	w.sendHeader()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *countedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
