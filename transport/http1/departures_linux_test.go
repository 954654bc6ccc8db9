package http1

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// waiters is a server whose requests wait until their client leaves or release is closed.
type waiters struct {
	*Server
	address string
	waiting chan struct{} // a request began to wait
	left    chan string   // a client has left
	release chan struct{}
}

func newWaiters(t *testing.T, secure *tls.Config, requests int) *waiters {
	t.Helper()
	w := &waiters{waiting: make(chan struct{}, requests), left: make(chan string, requests), release: make(chan struct{})}
	w.Server = newServer(t, Config{TLS: secure, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.waiting <- struct{}{}
		select {
		case <-r.Context().Done():
			w.left <- string(body)
		case <-w.release:
		}
		_, _ = out.Write(body)
	})})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	w.address = listener.Addr().String()
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			w.Serve(conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepting.Wait()
		if err := w.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return w
}

// client begins a request that waits.
func (w *waiters) client(t *testing.T, secure *tls.Config, body string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", w.address)
	clustertest.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	if secure != nil {
		conn = tls.Client(conn, secure)
	}
	write(t, conn, post(body))
	return conn, bufio.NewReader(conn)
}

// awaitWatched polls until so many connections are watched, which causes no event.
func (s *Server) awaitWatched(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.departures.mu.Lock()
		n := len(s.departures.watches)
		s.departures.mu.Unlock()
		if n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are watched, want %d", n, want)
		}
	}
}

// testTLS returns the TLS configurations of both ends.
func testTLS(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	made := httptest.NewTLSServer(http.NotFoundHandler())
	defer made.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(made.Certificate())
	return made.TLS.Clone(), &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: tls.VersionTLS12}
}

// A waiting request needs one goroutine. Departures of clients are noticed, and the other clients
// get their answers, also to a request that they sent meanwhile.
func TestDepartures(t *testing.T) {
	for _, kind := range []string{"clear text", "TLS"} {
		t.Run(kind, func(t *testing.T) {
			var server, client *tls.Config
			if kind == "TLS" {
				server, client = testTLS(t)
			}
			const clients = 60
			w := newWaiters(t, server, 2*clients)
			before := runtime.NumGoroutine()
			type waiting struct {
				net.Conn
				*bufio.Reader
			}
			var conns []waiting
			for i := range clients {
				conn, reader := w.client(t, client, strings.Repeat("x", i+1))
				conns = append(conns, waiting{conn, reader})
			}
			for range clients {
				<-w.waiting
			}
			w.awaitWatched(t, clients)
			if more := runtime.NumGoroutine() - before; more > clients+clients/2 {
				t.Errorf("%d goroutines for %d clients that wait", more, clients)
			}
			for i, c := range conns {
				switch i % 3 {
				case 0:
					_ = c.Conn.Close()
					if got := <-w.left; len(got) != i+1 {
						t.Errorf("client %d left, and the request of another one ended: %d", i, len(got)-1)
					}
				case 1:
					write(t, c.Conn, post("next"))
				}
			}
			w.awaitWatched(t, clients/3)
			close(w.release)
			for i, c := range conns {
				if i%3 == 0 {
					continue
				}
				wantAnswer(t, c.Reader, http.StatusOK, strings.Repeat("x", i+1))
				if i%3 == 1 {
					wantAnswer(t, c.Reader, http.StatusOK, "next")
				}
			}
			if n := len(w.left); n > 0 {
				t.Errorf("%d clients that waited for their answers were taken for gone", n)
			}
		})
	}
}

// Requests that end just as they begin to be watched are answered in order, and the departures of
// their clients are noticed at the end.
func TestRequestsThatEndAsTheyAreWatched(t *testing.T) {
	const clients, requests = 8, 15
	w := newWaiters(t, nil, clients)
	waits := w.Handler
	w.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.ContentLength == int64(len("stay")) {
			waits.ServeHTTP(out, r)
			return
		}
		time.Sleep(watchAfter - 100*time.Microsecond)
	})
	var asking sync.WaitGroup
	var conns []net.Conn
	for range clients {
		conn, reader := w.client(t, nil, "go")
		conns = append(conns, conn)
		asking.Go(func() {
			for range requests {
				response, err := http.ReadResponse(reader, nil)
				if err != nil || response.StatusCode != http.StatusOK {
					t.Errorf("got %v, %v", response, err)
					return
				}
				if _, err := io.WriteString(conn, post("go")); err != nil {
					t.Error(err)
					return
				}
			}
			clustertest.Check(t, clustertest.Err(http.ReadResponse(reader, nil)))
			clustertest.Check(t, clustertest.Err(io.WriteString(conn, post("stay"))))
			<-w.waiting
		})
	}
	asking.Wait()
	w.awaitWatched(t, clients)
	for _, conn := range conns {
		_ = conn.Close()
	}
	for range clients {
		<-w.left
	}
}
