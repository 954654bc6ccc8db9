package http2

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// headers begins a request, or ends the body of one with trailers. For the parameters see
// readHeaders.
func (c *conn) headers(stream uint32, ended bool, part []byte, whole bool) error {
	b := c.block
	defer b.forget()
	c.frames.left = 0
	if err := c.readHeaders(stream, ended, part, whole); err != nil {
		return err
	}
	c.startWaiting()
	c.mu.Lock()
	defer c.mu.Unlock()
	if st := c.streams.open[b.stream]; st != nil {
		return c.trailers(st, b)
	}
	if b.stream <= c.streams.last && b.pseudo == 0 || c.ending.announced {
		return c.countIdle() // trailers of a finished stream, or a request after GOAWAY
	}
	if b.stream%2 == 0 || b.stream <= c.streams.last {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	c.streams.last = b.stream
	c.output.updates += updatesOfRequest
	if b.truncated {
		return c.answerAtOnce(b, http.StatusRequestHeaderFieldsTooLarge)
	}
	crowded := c.server.load.full(c.streams.share)
	if crowded {
		c.server.refused(limits.RefusedStreams, c.conn, errCrowded)
	}
	if crowded || len(c.streams.open)-c.streams.over >= streamsMax || c.streams.running >= streamsMax {
		if err := c.countIdle(); err != nil {
			return err
		}
		return frame.StreamError{StreamID: b.stream, Code: frame.ErrCodeRefusedStream}
	}
	st := c.newStream(b)
	if err := c.request(st, b); err != nil {
		st.cancel()
		if !errors.Is(err, errBadHeader) {
			return err
		}
		return c.answerAtOnce(b, http.StatusBadRequest)
	}
	if c.alone++; len(c.streams.open) > c.streams.over {
		c.alone = 0
	}
	c.streams.open[st.id] = st
	c.waiting = st
	return nil
}

// answerBlockBytes is more than most answers need for their headers, or their trailers.
const answerBlockBytes = 256

// newStream returns a stream, reusing a finished one if possible. It needs the mutex.
func (c *conn) newStream(b *headerBlock) *stream {
	var st *stream
	if last := len(c.streams.kept) - 1; last >= 0 {
		st, c.streams.kept[last] = c.streams.kept[last], nil
		c.streams.kept = c.streams.kept[:last]
		st.answer.reset()
	} else {
		st = &stream{conn: c, request: new(http.Request)}
		st.turn.Attach(c.frames.guard)
		ctx, cancel := context.WithCancel(unverified.With(c.ctx, &st.turn))
		st.cancel, st.blank = cancel, c.template.WithContext(ctx)
		st.blank.Header = make(http.Header, len(b.fields))
		st.changed.L, st.answer.st = &c.mu, st
		st.answer.block, st.answer.ending = make([]byte, 0, answerBlockBytes), make([]byte, 0, answerBlockBytes)
	}
	*st.request = *st.blank
	st.id, st.window, st.credit = b.stream, c.streams.initialWindow, credit{left: windowOfStream}
	st.readUntil, st.writeUntil = c.heard.Add(limits.BodyTimeout), time.Time{}
	st.over = false
	st.body = body{declared: -1, ended: b.ended, unread: kept(st.body.unread)}
	return st
}

const (
	// keptHeadersMax bounds the headers of a stream that is kept, whose map never shrinks.
	keptHeadersMax = 64
	// keptMax bounds the finished streams that a connection keeps for reuse.
	keptMax = 32
)

// keep keeps a stream for reuse when its handler has returned, without any data of the client. It
// drops streams that are large or too many. It also drops a stream that ended before its handler:
// goroutines of the handler, as in grpc-go, may still use the request.
func (c *conn) keep(st *stream) {
	if st.blank.Context().Err() != nil {
		return
	}
	fits := len(st.values) <= keptHeadersMax
	if fits {
		clear(st.blank.Header)
		clear(st.values)
		st.values = st.values[:0]
		*st.request, st.url = *st.blank, url.URL{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !fits || st.lost != nil || len(c.streams.kept) == keptMax {
		st.cancel()
		return
	}
	c.streams.kept = append(c.streams.kept, st)
}

// trailers ends the body of a request. Their content is ignored. It needs the mutex.
func (c *conn) trailers(st *stream, b *headerBlock) error {
	switch {
	case st.over:
		return c.countIdle()
	case st.body.ended:
		return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeStreamClosed}
	case !b.ended || b.pseudo > 0:
		return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeProtocol}
	}
	st.body.ended = true
	if st.body.wrong() {
		return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeProtocol}
	}
	st.changed.Broadcast()
	return nil
}

// answerAtOnce refuses a request without a call of the handler. It needs the mutex.
func (c *conn) answerAtOnce(b *headerBlock, status int) error {
	if err := c.countIdle(); err != nil {
		return err
	}
	c.frames.guard.Refused(0)
	c.queueHeaders(b.stream, appendStatus(nil, status), true)
	if !b.ended {
		c.output.queued = appendReset(c.output.queued, b.stream, frame.ErrCodeNo)
	}
	return c.flush(false)
}

var errBadHeader = errors.New("a header that HTTP/2 does not permit")

// request fills in the request of a stream.
func (c *conn) request(st *stream, b *headerBlock) error {
	method, path, scheme := "", "", ""
	r := st.request
	header := r.Header
	for i := range b.fields {
		name, value := b.fields[i].Name, b.fields[i].Value
		switch name {
		case ":method":
			method = value
		case ":path":
			path = value
		case ":scheme":
			scheme = value
		case ":authority":
			r.Host = value
		case ":protocol": // permitted only with a setting that the server does not send (RFC 8441)
			return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeProtocol}
		default:
			if err := st.addHeader(header, name, value); err != nil {
				return err
			}
		}
	}
	if path == "" || method == "" || scheme != "http" && scheme != "https" {
		return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeProtocol}
	}
	r.Method, r.RequestURI = method, path
	r.URL, st.url = &st.url, url.URL{Path: path}
	if !http1.PlainPath(path) {
		parsed, err := url.ParseRequestURI(path)
		if err != nil {
			return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeProtocol}
		}
		st.url = *parsed
	}
	r.Body, r.ContentLength = http.NoBody, 0
	if !st.body.ended {
		r.Body, r.ContentLength = bodyReader{st}, st.body.declared
	} else if st.body.declared > 0 {
		return frame.StreamError{StreamID: st.id, Code: frame.ErrCodeProtocol}
	}
	return nil
}

// addHeader adds a header of a request. The values of all headers share one array.
func (st *stream) addHeader(header http.Header, name, value string) error {
	switch name {
	case "connection", "proxy-connection", "transfer-encoding", "upgrade", "keep-alive":
		return errBadHeader
	case "te":
		if value != "trailers" {
			return errBadHeader
		}
	case "host":
		if st.request.Host == "" {
			st.request.Host = value
		}
		return nil // as in net/http, the header has no Host
	case "expect":
		st.body.expected = !st.body.ended && strings.EqualFold(value, "100-continue")
		return nil
	case "content-length":
		n, err := strconv.ParseUint(value, 10, 62)
		if err != nil || st.body.declared >= 0 && st.body.declared != int64(n) {
			return errBadHeader
		}
		st.body.declared = int64(n)
	}
	name = http1.CanonicalName(name)
	before := header[name]
	if name == "Cookie" && len(before) > 0 { // HTTP/2 may split it (RFC 9113, 8.2.3)
		before[0] += "; " + value
		return nil
	}
	if before != nil {
		header[name] = append(before, value)
		return nil
	}
	i := len(st.values)
	st.values = append(st.values, value)
	header[name] = st.values[i : i+1 : i+1]
	return nil
}
