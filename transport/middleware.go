package transport

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/service"
)

// Recorded returns next with a request id, the access log, metrics and the recovery from panics.
func Recorded(calls *service.Calls, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &served{calls: calls, started: calls.Now()}
		s.writer = statusWriter{ResponseWriter: w, of: s, header: r.Header}
		calls.Begin(&s.request, connections.From(r.Context()), r.RemoteAddr, r.Header, s.started)
		s.id[0] = s.request.ID
		// AWS spells it x-amzn-RequestId; header names ignore case.
		w.Header()["X-Amzn-Requestid"] = s.id[:]
		s.ctx = context.WithValue(r.Context(), holders.CallerKey{}, &s.request)
		defer func() {
			panicked := recover()
			if panicked != nil || !s.writer.suspended {
				s.finish(panicked)
			}
			if panicked != nil && s.writer.suspended {
				panic(http.ErrAbortHandler) // the connection cannot continue
			}
		}()
		next.ServeHTTP(&s.writer, r.WithContext(s.ctx))
	})
}

// served holds the state of one request, allocated at once.
type served struct {
	calls   *service.Calls
	request service.Request
	writer  statusWriter
	id      [1]string // of the request, as a header has it
	started time.Time
	ctx     context.Context
}

// finish answers for a handler that panicked, then records the request. A panic costs only its
// request: handlers hold no replicated state.
func (s *served) finish(panicked any) {
	calls, request := s.calls, &s.request
	request.Duration = calls.Now().Sub(s.started)
	request.Status = s.writer.status
	err, _ := panicked.(error)
	aborted := errors.Is(err, http.ErrAbortHandler)
	if panicked != nil && !aborted {
		calls.Logger.Error("panic in a request handler", "request_id", request.ID, "action", request.Action,
			"panic", panicked, "stack", string(debug.Stack()))
		request.Code = "InternalFailure"
		request.Status = http.StatusInternalServerError
		if s.writer.status == 0 {
			http.Error(&s.writer, "an internal error, see the log of the node for request "+request.ID, http.StatusInternalServerError)
		}
	}
	calls.Report(s.ctx, request)
	if aborted {
		panic(panicked)
	}
}

// statusWriter remembers the status of the answer.
type statusWriter struct {
	http.ResponseWriter
	of        *served
	header    http.Header // of the request, until its handler returns
	status    int
	suspended bool // the request ends with the rest of its handler
}

// Suspend implements http1.Suspender.
func (w *statusWriter) Suspend(rest func()) (resume func(), ok bool) {
	s := w.of
	resume, ok = http1.Suspend(w.ResponseWriter, func() {
		defer func() { s.finish(recover()) }()
		rest()
	})
	if ok {
		w.suspended = true
		if s.request.Trace != nil {
			s.request.Trace.Header = w.header.Clone()
		}
		w.header = nil
	}
	return resume, ok
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	if errors.Is(err, budget.ErrExhausted) {
		w.status = 0 // nothing was sent: the handler writes another answer
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
