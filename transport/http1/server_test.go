package http1

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// length answers with the length of the body, or with an error status.
var length = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if errors.Is(err, budget.ErrExhausted) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusRequestTimeout)
		return
	}
	_, _ = io.WriteString(w, strconv.Itoa(len(body)))
})

// dial returns the client's end of a new connection. In a bubble, a deadline passes as soon as
// nothing else can happen.
func dial(t *testing.T, s *Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	s.Serve(ours)
	return theirs, bufio.NewReader(theirs)
}

func newServer(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Now, cfg.Logger = time.Now, quiet()
	if cfg.Handler == nil {
		cfg.Handler = length
	}
	if cfg.Handover == nil {
		cfg.Handover = func(c net.Conn) {
			t.Error("handed over")
			_ = c.Close()
		}
	}
	return New(t.Context(), cfg)
}

func post(body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	clustertest.Must(t, clustertest.Err(io.WriteString(conn, text)))
}

// wantAnswer reads one answer.
func wantAnswer(t *testing.T, r *bufio.Reader, status int, body string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	clustertest.Must(t, err)
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || string(got) != body {
		t.Errorf("got %d %.100q, %v, want %d %q", response.StatusCode, got, err, status, body)
	}
	return response
}

// wantClosed waits until the server closes the connection, and checks how long that took.
func wantClosed(t *testing.T, r *bufio.Reader, after time.Duration) {
	t.Helper()
	started := time.Now()
	if _, err := r.ReadByte(); err == nil {
		t.Error("an answer")
	}
	if took := time.Since(started); took != after {
		t.Errorf("closed after %v, want %v", took, after)
	}
}

// TestDeadlines checks that a client cannot keep a connection without sending requests.
func TestDeadlines(t *testing.T) {
	for name, c := range map[string]struct {
		send  string
		after time.Duration
	}{
		"nothing":         {"", limits.HeaderTimeout},
		"only line ends":  {post("x") + "\r\n", limits.IdleTimeout + deadlineSlack},
		"half a header":   {"POST / HTTP/1.1\r\nHo", limits.HeaderTimeout},
		"half a pipeline": {post("x") + "POST / HTTP/1.1\r\nHo", limits.HeaderTimeout},
		"idle":            {post("x"), limits.IdleTimeout + deadlineSlack},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, reader := dial(t, newServer(t, Config{}))
				if c.send != "" {
					write(t, conn, c.send)
				}
				if strings.HasPrefix(c.send, "POST / HTTP/1.1\r\nHost") {
					wantAnswer(t, reader, http.StatusOK, "1")
				}
				wantClosed(t, reader, c.after)
			})
		})
	}
}

// The deadline includes the TLS handshake, and a client without TLS gets an error.
func TestHandshakeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
		_, reader := dial(t, s)
		wantClosed(t, reader, limits.HeaderTimeout)
		conn, reader := dial(t, s)
		write(t, conn, "POST / HTTP/1.1\r\n"[:5]) // the server reads no more
		response, err := http.ReadResponse(reader, nil)
		if err != nil || response.StatusCode != http.StatusBadRequest {
			t.Fatalf("got %+v, %v", response, err)
		}
		_ = response.Body.Close()
	})
}

// TestTrickle checks that a header has no more time if it arrives byte by byte, and that an
// incomplete body is answered when its time is over.
func TestTrickle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, reader := dial(t, newServer(t, Config{}))
		var sender sync.WaitGroup
		defer sender.Wait()
		sender.Go(func() {
			for _, b := range []byte(post("x")) {
				time.Sleep(time.Second)
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
			}
		})
		// The time of the header begins with its first byte.
		wantClosed(t, reader, limits.HeaderTimeout+time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		conn, reader := dial(t, newServer(t, Config{}))
		write(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc")
		started := time.Now()
		if response := wantAnswer(t, reader, http.StatusRequestTimeout, ""); !response.Close || time.Since(started) != limits.BodyTimeout {
			t.Errorf("after %v: %+v", time.Since(started), response)
		}
		wantClosed(t, reader, 0)
	})
}

// panicConn panics when it is read.
type panicConn struct{ net.Conn }

func (panicConn) Read([]byte) (int, error) { panic("read") }

// TestPanicClosesOneConnection checks that a panic outside of the handler does not end the process.
func TestPanicClosesOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Handover: func(net.Conn) { panic("handover") }})
		ours, theirs := net.Pipe()
		s.Serve(panicConn{ours})
		wantClosed(t, bufio.NewReader(theirs), 0)
		conn, reader := dial(t, s)
		write(t, conn, "GET / HTTP/1.1\r\n")
		wantClosed(t, reader, 0)
		if s.Panics() != 2 {
			t.Errorf("counted %d", s.Panics())
		}
		conn, reader = dial(t, s)
		write(t, conn, post("x"))
		wantAnswer(t, reader, http.StatusOK, "1")
		shutdown(t, s)
	})
}

// TestPanicLeavesItsTurn checks that a panic in a handshake gives its turn back.
func TestPanicLeavesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{TLS: &tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { panic("hello") },
		}})
		for range cap(s.turns) {
			ours, theirs := net.Pipe()
			s.Serve(ours)
			if err := tls.Client(theirs, &tls.Config{ServerName: "h",
				MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context()); err == nil {
				t.Error("a handshake without an answer succeeded")
			}
			_ = theirs.Close() // it is closed already
		}
		synctest.Wait()
		if n := len(s.turns); n != 0 {
			t.Errorf("%d turns are taken of %d", n, cap(s.turns))
		}
		shutdown(t, s)
	})
}

func shutdown(t *testing.T, s *Server) {
	t.Helper()
	clustertest.Check(t, s.Shutdown(t.Context()))
	synctest.Wait()
}

// TestBeginningOfNextRequest checks that the large buffer of a request is freed although the first
// byte of the next one has arrived.
func TestBeginningOfNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * watchAfter) })})
		conn, reader := dial(t, s)
		c := s.open.List()[0]
		next := post("x")
		write(t, conn, post(strings.Repeat("b", 1<<20)))
		go func() { _, _ = io.WriteString(conn, next) }() // its first byte is read while the handler runs
		wantAnswer(t, reader, http.StatusOK, "")
		synctest.Wait()
		if len(c.input.buffer) > readBufferKeepMax {
			t.Errorf("the connection keeps %d bytes", len(c.input.buffer))
		}
		wantAnswer(t, reader, http.StatusOK, "")
		_ = conn.Close()
		shutdown(t, s)
	})
}

// TestHostileRequestLeavesNothing checks that a connection keeps no more memory after a large
// header or body than after other requests.
func TestHostileRequestLeavesNothing(t *testing.T) {
	var hostile strings.Builder
	hostile.WriteString("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n")
	for i := 0; hostile.Len() < limits.HeaderBytesMax-100; i++ {
		fmt.Fprintf(&hostile, "%x:\r\n", i)
	}
	hostile.WriteString("\r\n")
	const connections = 50
	for name, text := range map[string]string{
		"headers": hostile.String(), "one header": "POST / HTTP/1.1\r\nHost: h\r\nX-A: " +
			strings.Repeat("a", limits.HeaderBytesMax-100) + "\r\nContent-Length: 0\r\n\r\n",
		"body": post(strings.Repeat("b", 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			var kept []net.Conn
			served := make(chan struct{}, 1) // one request at a time
			s := newServer(t, Config{
				Handler:  http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served <- struct{}{} }),
				Handover: func(c net.Conn) { _ = c.Close(); served <- struct{}{} },
			})
			before := heap()
			for range connections {
				conn, reader := dial(t, s)
				kept = append(kept, conn)
				go func() { _, _ = io.WriteString(conn, text) }()
				<-served
				if _, err := reader.ReadByte(); err != nil {
					continue // handed over
				}
			}
			if grown := heap() - before; grown > connections*(readBufferKeepMax+16<<10) {
				t.Errorf("%d connections keep %d bytes each", connections, grown/connections)
			}
			for _, conn := range kept {
				_ = conn.Close()
			}
			shutdownNow(t, s)
		})
	}
}

// heap returns the size of the reachable memory.
func heap() int {
	runtime.GC()
	runtime.GC() // pools survive the first one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func shutdownNow(t *testing.T, s *Server) {
	t.Helper()
	clustertest.Check(t, s.Shutdown(t.Context()))
}

// TestBodiesOverBudget checks that incomplete bodies hold no more than the budget. A body without
// room is refused at once or after a wait, and its connection stays usable.
func TestBodiesOverBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := budget.New(4 << 20)
		s := newServer(t, Config{Budget: account})
		const size = 1 << 20
		var stalling []net.Conn
		for range 10 {
			conn, _ := dial(t, s)
			stalling = append(stalling, conn)
			go func() {
				_, _ = io.WriteString(conn, fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", size))
				_, _ = conn.Write(make([]byte, size-1))
			}()
			synctest.Wait() // four of them find room
		}
		if used := account.Usage().Used; used > 4<<20 || used < 4*(size-limits.FreeBytes) {
			t.Errorf("%d bytes are used", used)
		}
		conn, reader := dial(t, s)
		write(t, conn, post("small requests need no budget"))
		wantAnswer(t, reader, http.StatusOK, "29")
		go func() { _, _ = io.WriteString(conn, post(strings.Repeat("l", size))) }()
		wantAnswer(t, reader, http.StatusServiceUnavailable, "")
		write(t, conn, post("the same connection"))
		wantAnswer(t, reader, http.StatusOK, "19")
		for _, c := range stalling {
			_ = c.Close()
		}
		synctest.Wait()
		if used := account.Usage().Used; used != 0 {
			t.Errorf("%d bytes are still used", used)
		}
		go func() { _, _ = io.WriteString(conn, post(strings.Repeat("l", size))) }()
		wantAnswer(t, reader, http.StatusOK, strconv.Itoa(size))
		_ = conn.Close()
		shutdown(t, s)
		if used := account.Usage().Used; used != 0 {
			t.Errorf("%d bytes are used at the end", used)
		}
	})
}

// TestAnswersOverBudget checks that answers which clients do not read hold no more than the budget,
// for a limited time. A handler whose answer has no room can answer with an error instead.
func TestAnswersOverBudget(t *testing.T) {
	const size = 1 << 20
	large := make([]byte, size)
	synctest.Test(t, func(t *testing.T) {
		account := budget.New(4 << 20)
		s := newServer(t, Config{Budget: account, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength > 0 {
				return
			}
			w.Header().Set("Content-Length", strconv.Itoa(size))
			w.WriteHeader(http.StatusOK)
			if _, err := w.Write(large); errors.Is(err, budget.ErrExhausted) {
				w.Header().Set("Content-Length", "4")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, "full")
			}
		})})
		var unread []net.Conn
		for range 4 {
			conn, _ := dial(t, s)
			write(t, conn, post(""))
			unread = append(unread, conn)
		}
		synctest.Wait()
		if used := account.Usage().Used; used != 4<<20 {
			t.Errorf("%d bytes are used", used)
		}
		conn, reader := dial(t, s)
		write(t, conn, post("small"))
		wantAnswer(t, reader, http.StatusOK, "")
		write(t, conn, post(""))
		wantAnswer(t, reader, http.StatusServiceUnavailable, "full")
		// The first answers were written before memory was scarce, so they have the longest time.
		time.Sleep(limits.WriteLimit(size, false) + time.Second)
		if used := account.Usage().Used; used != 0 {
			t.Errorf("%d bytes are still used", used)
		}
		write(t, conn, post(""))
		wantAnswer(t, reader, http.StatusOK, string(large))
		for _, c := range append(unread, conn) {
			_ = c.Close()
		}
		shutdown(t, s)
	})
}

// TestKeptBuffersWhileScarce checks that connections give up the buffers for their next requests
// when others need the memory.
func TestKeptBuffersWhileScarce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		account := budget.New(256 << 10)
		s := newServer(t, Config{Budget: account})
		body := strings.Repeat("m", 50<<10)
		var conns []net.Conn
		for range 20 {
			conn, reader := dial(t, s)
			conns = append(conns, conn)
			write(t, conn, post(body))
			wantAnswer(t, reader, http.StatusOK, strconv.Itoa(len(body)))
		}
		synctest.Wait()
		if used := account.Usage().Used; used == 0 || used > 192<<10 {
			t.Errorf("idle connections keep %d bytes", used)
		}
		for _, c := range conns {
			_ = c.Close()
		}
		shutdown(t, s)
		if used := account.Usage().Used; used != 0 {
			t.Errorf("%d bytes are used at the end", used)
		}
	})
}
