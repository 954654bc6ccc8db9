package http2

import (
	"context"
	"errors"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// headers begins a request, or ends the body of one with trailers: as readHeaders says.
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
	if b.stream <= c.streams.last && b.pseudo == 0 || c.ending.said {
		return c.broughtNothing() // trailers of a stream that is over, or what will be sent elsewhere
	}
	if b.stream%2 == 0 || b.stream <= c.streams.last {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	c.streams.last = b.stream
	c.updates += updatesOfRequest
	if b.truncated {
		return c.answerAtOnce(b, http.StatusRequestHeaderFieldsTooLarge)
	}
	crowded := c.server.load.full(c.streams.share)
	if crowded {
		c.server.refused(limits.RefusedStreams, c.conn, errCrowded)
	}
	if crowded || len(c.streams.open)-c.streams.over >= streamsMax || c.streams.running >= streamsMax {
		if err := c.broughtNothing(); err != nil {
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

// answerBlockBytes is how many bytes the headers of most answers have at most, and their
// trailers.
const answerBlockBytes = 256

// newStream makes a stream, of one that is over if there is one. It needs the mutex.
func (c *conn) newStream(b *headerBlock) *stream {
	var st *stream
	if last := len(c.streams.kept) - 1; last >= 0 {
		st, c.streams.kept[last] = c.streams.kept[last], nil
		c.streams.kept = c.streams.kept[:last]
		st.answer.reset()
	} else {
		st = &stream{conn: c, request: new(http.Request)}
		st.turn.Attach(c.guard)
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
	// keptHeadersMax is how many headers a stream may have had that is kept: the map that
	// holds them never shrinks.
	keptHeadersMax = 64
	// keptMax bounds the finished streams that a connection keeps for reuse.
	keptMax = 32
)

// keep keeps a stream whose handler has returned for a later request of its connection,
// without anything that the client sent, unless there are enough or the stream has become
// too large for that. One that ended before its handler did is left alone: a handler that
// waited for that may have a goroutine which still looks at the request, as those of the
// library of gRPC do.
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

// trailers ends the body of a request. What they say is ignored. It needs the mutex.
func (c *conn) trailers(st *stream, b *headerBlock) error {
	switch {
	case st.over:
		return c.broughtNothing()
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

// answerAtOnce refuses a request without calling the handler. It needs the mutex.
func (c *conn) answerAtOnce(b *headerBlock, status int) error {
	if err := c.broughtNothing(); err != nil {
		return err
	}
	c.guard.Refused(0)
	c.sayHeaders(b.stream, appendStatus(nil, status), true)
	if !b.ended {
		c.out = appendReset(c.out, b.stream, frame.ErrCodeNo)
	}
	return c.flush(false)
}

// errBadHeader refuses headers that HTTP/2 does not have.
var errBadHeader = errors.New("a header that HTTP/2 does not have")

// request makes the request of a stream of its headers.
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
		case ":protocol": // which needs a setting that was not given (RFC 8441)
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
	if !plainPath(path) {
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

// addHeader adds a header of a request. The lists of all values share one array.
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
		return nil // net/http does not keep it among the others either
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
	name = canonical(name)
	before := header[name]
	if name == "Cookie" && len(before) > 0 { // which HTTP/2 may split (RFC 9113, 8.2.3)
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

// canonicalNames are the headers of SDKs and of gRPC.
var canonicalNames = func() map[string]string {
	names := make(map[string]string)
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "Content-Length", "Content-Type",
		"Grpc-Accept-Encoding", "Grpc-Encoding", "Grpc-Timeout", "Origin", "Te", "Traceparent", "User-Agent", "X-Amz-Content-Sha256",
		"X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Target", "X-Amz-User-Agent", "X-Amzn-Query-Mode", "X-Amzn-Trace-Id",
	} {
		names[strings.ToLower(name)] = name
	}
	return names
}()

func canonical(name string) string {
	if known, ok := canonicalNames[name]; ok {
		return known
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

// plainPath reports whether a path stands for itself: no escapes, no query, no host.
func plainPath(path string) bool {
	if path[0] != '/' || strings.HasPrefix(path, "//") {
		return false
	}
	for i := range len(path) {
		c := path[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '/' && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
