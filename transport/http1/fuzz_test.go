package http1

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/limits"
)

// FuzzHTTP1 sends arbitrary bytes to a connection of this package and to net/http, and checks three
// rules:
//
//  1. net/http reads every request that is served here in the same place, with the same method,
//     target, host, header, and body, and keeps the connection after it.
//  2. From the first request on that is not served here, net/http gets every byte and reads it
//     as if it had had the connection from the beginning.
//  3. If a connection is closed without being handed over, net/http would not have served
//     another request either.
//
// The second argument is the size of the pieces in which the bytes arrive, 0 for one piece.
func FuzzHTTP1(f *testing.F) {
	const plain = "POST /0/orders.fifo HTTP/1.1\r\nHost: h:9\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nok"
	const form = "POST / HTTP/1.1\r\nhost: h\r\nx-amz-target: AmazonSQS.SendMessage\r\nx-a:  1\t\r\nX-A:\r\nconnection: " +
		"Keep-Alive\r\ncontent-length: 03\r\n\r\na=b"
	const chunked = "POST /?a=%20 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
	for _, text := range []string{
		plain, form, plain + form + plain, plain + chunked + plain, plain + "GET / HTTP/1.0\r\n\r\n",
		plain + "\r\n" + plain, plain + "\n\n\n\n\n" + plain, plain[:len(plain)-1], plain + form[:40],
		"POST / HTTP/1.1\nHost: h\nContent-Length: 1\n\nx",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\nx" + plain,
		"POST / HTTP/1.1\r\nHost: h\r\nPragma: no-cache\r\nContent-Length: 1\r\n\r\nx",
		"POST //a/b HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"POST http://other/x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
		"POST / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n 2\r\nContent-Length : 1\r\n\r\nx",
		"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
		"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
	} {
		f.Add([]byte(text), byte(0))
		f.Add([]byte(text), byte(1))
	}
	// After the first two requests the buffer grows past the longest header in one step.
	large := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n" + strings.Repeat("b", 30_000)
	medium := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n\r\n" + strings.Repeat("b", 4000)
	tooLong := "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nX-A: " + strings.Repeat("a", 3*limits.HeaderBytesMax/2) + "\r\n\r\n"
	f.Add([]byte(large+medium+tooLong), byte(0))
	f.Fuzz(func(t *testing.T, input []byte, piece byte) {
		// In a bubble, time passes only when everything waits for it.
		synctest.Test(t, func(t *testing.T) { sameAsNetHTTP(t, input, int(piece)) })
	})
}

// sameAsNetHTTP checks the rules of FuzzHTTP1 for one connection.
func sameAsNetHTTP(t *testing.T, input []byte, piece int) {
	ours, answers, remaining, handedOver := servedHere(t, input, piece)
	if !bytes.HasSuffix(input, remaining) {
		t.Fatalf("what is left is %q", remaining)
	}
	theirs, theirsOfRemaining := servedByNetHTTP(t, input, piece), servedByNetHTTP(t, remaining, piece)
	if len(theirs) < len(ours) {
		t.Fatalf("%d requests served here, %d by net/http", len(ours), len(theirs))
	}
	for i, r := range ours {
		if !reflect.DeepEqual(r, theirs[i]) {
			t.Fatalf("request %d is here\n%+v\nand for net/http\n%+v", i, r, theirs[i])
		}
		if r.Truncated || r.Close {
			t.Fatalf("request %d was served here: %+v", i, r)
		}
	}
	if would := theirs[len(ours):]; len(would) != len(theirsOfRemaining) || len(would) > 0 && !reflect.DeepEqual(would, theirsOfRemaining) {
		t.Fatalf("after %d requests net/http reads of the remaining\n%+v\nand would have read\n%+v", len(ours), theirsOfRemaining, would)
	}
	if !handedOver && slices.ContainsFunc(theirsOfRemaining, func(r arrived) bool { return !r.Truncated }) {
		t.Fatalf("given up with a whole request left: %+v", theirsOfRemaining)
	}
	for i, reader := 0, bufio.NewReader(bytes.NewReader(answers)); i < len(ours); i++ {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil || answer.Close || answer.ContentLength != 0 {
			t.Fatalf("the answer to request %d: %+v, %v", i, answer, err)
		}
	}
}

// arrived is a request as its handler sees it.
type arrived struct {
	Method, Host, Target, URL, Proto string
	Header                           http.Header
	Length                           int64
	Body                             string
	Truncated                        bool // the body is incomplete
	Close                            bool
	Transfer                         []string
	Trailer                          http.Header
}

// arrivals records the requests of one connection.
type arrivals []arrived

func (a *arrivals) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	header := make(http.Header) // r reuses its header
	for name, values := range r.Header {
		header[strings.Clone(name)] = slices.Clone(values)
	}
	body, err := io.ReadAll(r.Body)
	*a = append(*a, arrived{
		Method: r.Method, Host: r.Host, Target: r.RequestURI, URL: r.URL.String(), Proto: r.Proto, Header: header,
		Length: r.ContentLength, Body: string(body), Truncated: err != nil, Close: r.Close,
		Transfer: r.TransferEncoding, Trailer: maps.Clone(r.Trailer),
	})
}

// servedHere sends the bytes to a connection of this package. remaining is the bytes that no
// request used, and handedOver reports whether the connection was handed over with them.
func servedHere(t *testing.T, input []byte, piece int) (requests []arrived, answers, remaining []byte, handedOver bool) {
	var seen arrivals
	conn := newScript(input, piece)
	take := func(c net.Conn) {
		handedOver = true
		handed, err := io.ReadAll(c)
		clustertest.Must(t, err)
		remaining = handed
	}
	s := New(t.Context(), Config{Handler: &seen, Now: time.Now, Logger: quiet(), Handover: take})
	c := newConn(s, conn)
	s.open.Add(c)
	c.serve()
	if !handedOver {
		remaining = append(slices.Clone(c.input.buffer[c.input.start:c.input.end]), conn.input...)
	}
	if handedOver == conn.closed() {
		t.Fatalf("handed over: %v, closed: %v", handedOver, conn.closed())
	}
	return seen, conn.output, remaining, handedOver
}

// servedByNetHTTP sends the bytes to a server of net/http with our settings, but without HTTP/2,
// which is recognized only at the beginning of a connection.
func servedByNetHTTP(t *testing.T, input []byte, piece int) []arrived {
	var seen arrivals
	conn := newScript(input, piece)
	listener := &oneConnection{conns: make(chan net.Conn, 1), done: make(chan struct{})}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	s := http.Server{
		Handler: &seen, Protocols: &protocols, MaxHeaderBytes: limits.HeaderBytesMax,
		ErrorLog:    slog.NewLogLogger(quiet().Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return t.Context() },
	}
	done := make(chan error, 1) // the one result
	go func() { done <- s.Serve(listener) }()
	listener.conns <- conn
	<-conn.end
	clustertest.Must(t, s.Close())
	<-done
	return seen
}

// oneConnection is a listener with one connection.
type oneConnection struct {
	conns chan net.Conn // capacity 1: the connection
	done  chan struct{} // closed by Close
	once  sync.Once
}

func (l *oneConnection) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneConnection) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *oneConnection) Addr() net.Addr { return &net.TCPAddr{} }

// script is a connection from which a text is read, one piece at a time. It accepts whatever is
// written and has no deadlines.
type script struct {
	mu     sync.Mutex
	input  []byte // the rest of the text
	piece  int    // 0: all at once
	output []byte
	once   sync.Once
	end    chan struct{} // closed by Close
}

func newScript(input []byte, piece int) *script {
	return &script{input: input, piece: piece, end: make(chan struct{})}
}

func (c *script) closed() bool {
	select {
	case <-c.end:
		return true
	default:
		return false
	}
}

func (c *script) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.input) == 0 || c.closed() {
		return 0, io.EOF
	}
	next := c.input
	if c.piece > 0 {
		next = next[:min(len(next), c.piece)]
	}
	n := copy(p, next)
	c.input = c.input[n:]
	return n, nil
}

// Write records what is written.
func (c *script) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output = append(c.output, p...)
	return len(p), nil
}

func (c *script) Close() error {
	c.once.Do(func() { close(c.end) })
	return nil
}

func (c *script) LocalAddr() net.Addr { return &net.TCPAddr{} }

func (c *script) RemoteAddr() net.Addr { return &net.TCPAddr{} }

func (c *script) SetDeadline(time.Time) error { return nil }

func (c *script) SetReadDeadline(time.Time) error { return nil }

func (c *script) SetWriteDeadline(time.Time) error { return nil }

// TestLineEndsLeaveAConnectionIdle checks that line ends after a request do not begin the next one,
// so that a shutdown need not wait for it.
func TestLineEndsLeaveAConnectionIdle(t *testing.T) {
	for _, piece := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var seen arrivals
			s := New(t.Context(), Config{
				Handler: &seen, Now: time.Now, Logger: quiet(), Handover: func(net.Conn) { t.Error("handed over") },
			})
			c := newConn(s, newScript([]byte("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx\r\n"), piece))
			s.open.Add(c)
			c.serve()
			if state := c.state.Load(); len(seen) != 1 || state != connIdle {
				t.Errorf("%d requests, state %d", len(seen), state)
			}
		})
	}
}
