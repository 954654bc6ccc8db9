package service

import (
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"time"

	"github.com/seriatimq/seriatim/transport/connections"
)

// Calls records the calls of clients: it gives each an id, and counts, traces, logs and audits
// it. Safe for concurrent use.
type Calls struct {
	Logger   *slog.Logger
	Audit    *slog.Logger // for actions that are Audited; nil: no audit
	Observer Observer     // may be nil
	Tracer   Tracer       // nil: calls are not traced
	// Refusals selects which refused calls without a key are audited; nil: all.
	Refusals *RefusalSample
	Sample   *Sample   // selects the calls that are logged; nil: all
	Random   io.Reader // source of request ids
	Now      func() time.Time
}

// Begin starts the record of a call from an address, which arrived at a time over a connection, nil:
// unknown. header reads the trace
// context of the client; it has to stay readable until Report, unless the protocol replaces
// Trace.Header by a copy.
func (c *Calls) Begin(request *Request, of *connections.Connection, remote string, header Header, at time.Time) {
	request.ID, request.Remote = c.newID(&request.random), remote
	request.UserAgent = header.Get("User-Agent")
	request.connection = of
	of.Begin(at)
	if c.Tracer != nil {
		request.Trace = &Trace{Header: header}
	}
}

// End notes that a call is answered, also one that is not reported.
func (c *Calls) End(request *Request) {
	request.connection.End()
	request.connection = nil
}

// Report counts, traces, audits and logs a call that is over.
func (c *Calls) Report(ctx context.Context, request *Request) {
	if !request.announced { // the call failed before its resource was known
		request.Announce()
	}
	c.End(request)
	if c.Observer != nil {
		c.Observer.Observe(request)
	}
	if c.Tracer != nil {
		c.Tracer.Trace(ctx, request)
	}
	if c.Audit != nil && request.Effect == Audited {
		c.audit(ctx, request)
	}
	if !c.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	if of := c.Sample.take(c.Now); of > 0 {
		c.Logger.LogAttrs(ctx, slog.LevelDebug, "request", append(logAttributes(request), slog.Int("of", of))...)
	}
}

// audit records a call, unless it is one of many that were refused for want of a key.
func (c *Calls) audit(ctx context.Context, request *Request) {
	var more []slog.Attr
	if request.Unauthenticated {
		leftOut, ok := c.Refusals.take(c.Now)
		if !ok {
			return
		}
		more = []slog.Attr{slog.Int("left_out", leftOut)}
	}
	c.Audit.LogAttrs(ctx, slog.LevelInfo, "client call", append(logAttributes(request), more...)...)
}

// logAttributes describes a call for the log: names and codes, never content.
func logAttributes(request *Request) []slog.Attr {
	return []slog.Attr{
		slog.String("request_id", request.ID),
		slog.String("action", request.Action), slog.String("protocol", request.Protocol),
		slog.String("queue", request.Queue), slog.String("topic", request.Topic),
		slog.String("permission", request.Permission), slog.String("account", request.Account),
		slog.Int("status", request.Status), slog.String("code", request.Code),
		slog.Float64("dur_ms", float64(request.Duration.Microseconds())/1000), slog.String("remote", request.Remote),
	}
}

// newID draws a random UUID (version 4) in id.
func (c *Calls) newID(id *[16]byte) string {
	if _, err := io.ReadFull(c.Random, id[:]); err != nil {
		// A repeated id is better than a refused request: the id only names the request in logs.
		c.Logger.Warn("reading random bytes for a request id failed", "error", err)
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
