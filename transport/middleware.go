package transport

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
)

// Middleware wraps a handler with what every client request gets. Safe for
// concurrent use.
type Middleware struct {
	Logger   *slog.Logger
	Audit    *slog.Logger // for requests that change who may do what, or take away; nil: none
	Observer Observer     // may be nil
	Tracer   Tracer       // nil: requests are not traced
	// Strangers chooses the refused callers without a key that are audited; nil: all.
	Strangers *Strangers
	Sample    *Sample   // of requests that are logged; nil: all
	Random    io.Reader // source of request ids
	Now       func() time.Time
}

// Wrap returns next with request id, access log, metrics and panic recovery.
func (m Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &served{middleware: &m, started: m.Now()}
		s.writer = statusWriter{ResponseWriter: w, of: s}
		m.begin(&s.request, r)
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
				panic(http.ErrAbortHandler) // nobody goes on with the connection
			}
		}()
		next.ServeHTTP(&s.writer, r.WithContext(s.ctx))
	})
}

// served is what one request needs here, made at once.
type served struct {
	middleware *Middleware
	request    Request
	writer     statusWriter
	id         [1]string // of the request, as a header has it
	started    time.Time
	ctx        context.Context
}

// finish answers for a handler that panicked, then logs and counts. A panic
// costs its request and no more: nothing here holds replicated state.
func (s *served) finish(panicked any) {
	m, request := s.middleware, &s.request
	request.Duration = m.Now().Sub(s.started)
	request.Status = s.writer.status
	err, _ := panicked.(error)
	aborted := errors.Is(err, http.ErrAbortHandler)
	if panicked != nil && !aborted {
		m.Logger.Error("panic in a request handler", "request_id", request.ID, "action", request.Action,
			"panic", panicked, "stack", string(debug.Stack()))
		request.Code = "InternalFailure"
		request.Status = http.StatusInternalServerError
		if s.writer.status == 0 {
			http.Error(&s.writer, "an internal error, see the log of the node for request "+request.ID, http.StatusInternalServerError)
		}
	}
	m.Report(s.ctx, request)
	if aborted {
		panic(panicked)
	}
}

// Begin is the record of a new request, for those that Wrap does not serve. Its header is
// read until the request is over.
func (m Middleware) Begin(r *http.Request) *Request {
	request := new(Request)
	m.begin(request, r)
	return request
}

func (m Middleware) begin(request *Request, r *http.Request) {
	request.ID, request.Remote = m.newID(&request.random), r.RemoteAddr
	if m.Tracer != nil {
		request.Trace = &Trace{Header: r.Header}
	}
}

// Report counts, traces and logs a request that is over.
func (m Middleware) Report(ctx context.Context, request *Request) {
	if m.Observer != nil {
		m.Observer.Observe(request)
	}
	if m.Tracer != nil {
		m.Tracer.Trace(ctx, request)
	}
	if m.Audit != nil && request.Effect == Audited {
		m.audit(ctx, request)
	}
	if !m.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	if of := m.Sample.take(m.Now); of > 0 {
		m.Logger.LogAttrs(ctx, slog.LevelDebug, "request", append(attributesOf(request), slog.Int("of", of))...)
	}
}

// audit writes down a request, unless it is one of many refused ones that anybody can make.
func (m Middleware) audit(ctx context.Context, request *Request) {
	var more []slog.Attr
	if request.Stranger {
		leftOut, ok := m.Strangers.take(m.Now)
		if !ok {
			return
		}
		more = []slog.Attr{slog.Int("left_out", leftOut)}
	}
	m.Audit.LogAttrs(ctx, slog.LevelInfo, "client call", append(attributesOf(request), more...)...)
}

// attributesOf are what a log says about a request: never what it carries.
func attributesOf(request *Request) []slog.Attr {
	return []slog.Attr{
		slog.String("request_id", request.ID),
		slog.String("action", request.Action), slog.String("protocol", request.Protocol),
		slog.String("queue", request.Queue), slog.String("topic", request.Topic), slog.String("permission", request.Permission), slog.String("account", request.Account),
		slog.Int("status", request.Status), slog.String("code", request.Code),
		slog.Float64("dur_ms", float64(request.Duration.Microseconds())/1000), slog.String("remote", request.Remote),
	}
}

// newID draws a random UUID (version 4) in id.
func (m Middleware) newID(id *[16]byte) string {
	if _, err := io.ReadFull(m.Random, id[:]); err != nil {
		// An id that repeats is better than a request refused for want of
		// one: it only names the request in logs.
		m.Logger.Warn("reading random bytes for a request id failed", "error", err)
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], id[0:4])
	hex.Encode(out[9:13], id[4:6])
	hex.Encode(out[14:18], id[6:8])
	hex.Encode(out[19:23], id[8:10])
	hex.Encode(out[24:36], id[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// statusWriter remembers the status of the answer.
type statusWriter struct {
	http.ResponseWriter
	of        *served
	status    int
	suspended bool // the request is over when the rest of its handler is
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
		s.request.Trace.keepHeader()
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
