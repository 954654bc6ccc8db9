package http2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/budget"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a Server on a loopback listener, with a client of net/http.
type served struct {
	server *Server
	url    string
	client *http.Client
}

func serve(t *testing.T, handler http.HandlerFunc) *served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	through := &http.Transport{Protocols: &protocols}
	s := &served{url: "http://" + listener.Addr().String(), client: &http.Client{Transport: through}}
	s.server = New(t.Context(), Config{
		Handler: handler, Budget: budget.New(64 << 20), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Others: func(c net.Conn) { _ = c.Close() },
	})
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.server.Serve(conn)
		}
	}()
	t.Cleanup(func() {
		through.CloseIdleConnections()
		_ = listener.Close() // it was only to listen
		<-accepting
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		clustertest.Check(t, s.server.Shutdown(ctx))
		if n := s.server.Panics(); n > 0 {
			t.Errorf("%d panics", n)
		}
	})
	return s
}

// described returns everything that a client sees of an answer.
func described(t *testing.T, client *http.Client, method, url string, header http.Header, body io.Reader) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	clustertest.Must(t, err)
	maps.Copy(r.Header, header)
	answer, err := client.Do(r)
	if err != nil {
		return "failed"
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	var out strings.Builder
	fmt.Fprintln(&out, answer.Proto, answer.StatusCode, answer.ContentLength, len(content), bytes.Count(content, []byte("x")), err != nil)
	for _, h := range []http.Header{answer.Header, answer.Trailer} {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			if name == "Date" {
				_, problem := http.ParseTime(h.Get(name))
				fmt.Fprintln(&out, name, problem)
				continue
			}
			fmt.Fprintln(&out, name, h[name])
		}
	}
	if len(content) < 10_000 {
		fmt.Fprintf(&out, "%s", content)
	}
	return out.String()
}

// answers contains handlers by path. Each tests one feature of answers.
var answers = map[string]http.HandlerFunc{
	"/echo": func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintln(w, r.Method, r.Proto, r.ProtoMajor, r.Host != "", r.URL.Path, r.URL.RawQuery, r.RequestURI, r.ContentLength,
			len(body), err, r.TLS != nil)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintln(w, name, r.Header[name])
		}
	},
	"/large": func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, r.Body)
		fmt.Fprint(w, n)
	},
	"/pieces": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 20 {
			fmt.Fprint(w, strings.Repeat("x", i*1000))
		}
	},
	"/flushed": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "later")
		w.(http.Flusher).Flush()
	},
	"/nothing":    func(http.ResponseWriter, *http.Request) {},
	"/no-content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"/error":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
	"/declared": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		_, _ = io.WriteString(w, "abc")
	},
	"/trailers": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Said-Before")
		w.Header().Set("Content-Type", "a/b")
		w.Header()["Date"] = nil
		_, _ = io.Copy(w, r.Body)
		w.(http.Flusher).Flush()
		w.Header().Set("Said-Before", "1")
		w.Header().Set(http.TrailerPrefix+"Not-Said", "2")
		w.Header().Set("Too-Late", "3")
	},
	"/only-trailers": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "a/b")
		w.Header().Set("Trailer", "Alone")
		w.(http.Flusher).Flush()
		w.Header().Set("Alone", strings.Repeat("t", 40_000))
	},
	"/unread": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "not interested") },
	"/panic":  func(http.ResponseWriter, *http.Request) { panic("deliberate") },
	"/abort":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"/twice":  func(w http.ResponseWriter, _ *http.Request) { w.Header()["D"] = []string{"1", "2"} },
}

// Clients see the same from this server as from net/http's, on one connection, also when the server
// knows that the connection has one request at a time.
func TestSameAsNetHTTP(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) { answers[r.URL.Path](w, r) }
	ours := serve(t, handler)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	theirs := &http.Server{Handler: http.HandlerFunc(handler), Protocols: &protocols, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	done := make(chan error, 1) // the one result
	go func() { done <- theirs.Serve(listener) }()
	defer func() {
		ours.client.CloseIdleConnections()
		clustertest.Check(t, theirs.Shutdown(t.Context()))
		<-done
	}()
	large := strings.Repeat("x", 3<<20)
	for round := range 3 {
		for _, path := range slices.Sorted(maps.Keys(answers)) {
			for _, c := range []struct {
				method, query, body string
				header              http.Header
			}{
				{method: http.MethodGet},
				{method: http.MethodHead},
				{method: http.MethodPost, body: "hello"},
				{method: http.MethodPost, body: large},
				{method: http.MethodPut, query: "?a=%20b&c", body: "1",
					header: http.Header{"X-A": {"1", "2"}, "Expect": {"100-continue"}, "Cookie": {"a=1; b=2"}}},
			} {
				if c.body == large && path != "/large" && path != "/unread" {
					continue
				}
				results := [2]string{}
				for i, base := range []string{"http://" + listener.Addr().String(), ours.url} {
					var body io.Reader
					if c.body != "" {
						body = strings.NewReader(c.body)
					}
					results[i] = described(t, ours.client, c.method, base+path+c.query, c.header, body)
				}
				if results[0] != results[1] {
					t.Errorf("round %d, %s %s%s with %d bytes: got\n%.2000s\nwant\n%.2000s", round, c.method, path, c.query,
						len(c.body), results[1], results[0])
				}
			}
		}
	}
}

// Many requests on one connection are served concurrently, each with its own answer.
func TestManyAtOnce(t *testing.T) {
	const requests = 200
	var arrived sync.WaitGroup
	arrived.Add(requests)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived.Done()
		arrived.Wait()
		_, _ = w.Write(body)
	})
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			want := strings.Repeat(fmt.Sprint(i, " "), i*100)
			answer, err := s.client.Post(s.url, "text/plain", strings.NewReader(want))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if got, err := io.ReadAll(answer.Body); err != nil || string(got) != want {
				t.Errorf("request %d: %d bytes came back, %v", i, len(got), err)
			}
		})
	}
	all.Wait()
}

// After a connection had one request at a time, a second request is still served while the first
// one is slow, and a request ends when its client leaves.
func TestReadsOnBesideSlowHandlers(t *testing.T) {
	second, begun, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var connections atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/first":
			<-second
		case "/second":
			close(second)
		case "/left":
			close(begun)
			<-r.Context().Done()
			close(ended)
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})
	through := s.client.Transport.(*http.Transport)
	through.MaxConnsPerHost = 1 // otherwise the client may dial again while an answer arrives
	through.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	get := func(ctx context.Context, path string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader("body"))
		if err != nil {
			return err
		}
		answer, err := s.client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err == nil && string(body) != path {
			err = fmt.Errorf("%s was answered with %q", path, body)
		}
		return err
	}
	alone := func() {
		for range aloneMin + 5 {
			clustertest.Must(t, get(t.Context(), "/"))
		}
	}
	alone()
	first := make(chan error, 1) // the one answer
	go func() { first <- get(t.Context(), "/first") }()
	clustertest.Must(t, errors.Join(get(t.Context(), "/second"), <-first))
	alone()
	leaving, leave := context.WithCancel(t.Context())
	go func() { first <- get(leaving, "/left") }()
	alone() // meanwhile, other requests are served
	<-begun
	leave()
	<-ended
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Shutdown waits for requests in progress, and no connection outlives it.
func TestShutdownWaits(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		close(started)
		<-release
		_, _ = io.WriteString(w, "whole")
	})
	got := make(chan string, 1) // the one answer
	go func() { got <- described(t, s.client, http.MethodGet, s.url, nil, nil) }()
	<-started
	stopped := make(chan error, 1) // the one result
	go func() { stopped <- s.server.Shutdown(t.Context()) }()
	for !s.server.closes.Load() {
		runtime.Gosched() // there is nothing to wait on
	}
	close(release)
	if answer := <-got; !strings.HasSuffix(answer, "whole") {
		t.Errorf("got %s", answer)
	}
	clustertest.Check(t, <-stopped)
}

// Requests that last longer than Shutdown's context are ended.
func TestShutdownEnds(t *testing.T) {
	started := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	got := make(chan string, 1) // the one answer
	go func() { got <- described(t, s.client, http.MethodGet, s.url, nil, nil) }()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if answer := <-got; answer != "failed" {
		t.Errorf("got %s", answer)
	}
	<-s.server.open.Ended()
}

// Without keep-alives a connection ends once it has no request, and the client uses another one. It
// may send one more request before it notices.
func TestKeepAlives(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) })
	from := func() string {
		lines := strings.Split(described(t, s.client, http.MethodGet, s.url, nil, nil), "\n")
		return lines[len(lines)-1]
	}
	first := from()
	if again := from(); again != first {
		t.Errorf("from %s, then from %s", first, again)
	}
	s.server.KeepAlives(false)
	second := from()
	for second == first {
		second = from()
	}
	last := from()
	for last == second {
		last = from()
	}
	s.server.KeepAlives(true)
	for next := from(); next != last; next = from() {
		last = next
	}
}
