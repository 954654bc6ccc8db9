package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// busyHandler refuses all requests without the header Key, after some work.
type busyHandler struct {
	running, most, refused atomic.Int64
	many                   chan struct{} // closed when it has refused 300
}

// ServeHTTP serves one request.
func (h *busyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := h.running.Add(1)
	for most := h.most.Load(); n > most && !h.most.CompareAndSwap(most, n); {
		most = h.most.Load()
	}
	for range 10 {
		runtime.Gosched()
	}
	h.running.Add(-1)
	if r.Header.Get("Key") != "" {
		unverified.From(r.Context()).Verified()
		return
	}
	if h.refused.Add(1) == 300 {
		close(h.many)
	}
	w.WriteHeader(http.StatusForbidden)
}

const plainRequest = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"

// At most as many unverified requests run at once as there are turns, in each protocol, and a
// client with a key is served meanwhile.
func TestUnverifiedRequestsTakeTurns(t *testing.T) {
	for name, one := range map[string]string{
		"plain": plainRequest, "other": "GET /?a=b HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/2": "",
	} {
		t.Run(name, func(t *testing.T) {
			h := &busyHandler{many: make(chan struct{})}
			s := listen(t, Config{Handler: h})
			defer shutdown(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			var floods sync.WaitGroup
			for range 20 {
				floods.Go(func() {
					if one == "" {
						floodHTTP2(ctx, t, s.Addr().String())
					} else {
						floodHTTP1(ctx, t, s.Addr().String(), strings.Repeat(one, 50))
					}
				})
			}
			<-h.many
			conn, err := net.Dial("tcp", s.Addr().String())
			clustertest.Must(t, err)
			defer conn.Close()
			answers := bufio.NewReader(conn)
			for range 50 {
				fmt.Fprint(conn, strings.Replace(plainRequest, "\r\n", "\r\nKey: yes\r\n", 1))
				answer, err := http.ReadResponse(answers, nil)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("the client with a key got %v, %v", answer, err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
			}
			cancel()
			floods.Wait()
			// One more is the request of the client with a key.
			if turns := int64(max(1, runtime.GOMAXPROCS(0)/2)); h.most.Load() > turns+1 {
				t.Errorf("%d requests were in work at once, there are %d turns", h.most.Load(), turns)
			}
		})
	}
}

// floodHTTP1 pipelines requests and reads the answers.
func floodHTTP1(ctx context.Context, t *testing.T, address, requests string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	go func() { _, _ = io.Copy(io.Discard, conn) }() // until it is closed
	for ctx.Err() == nil {
		if _, err := io.WriteString(conn, requests); err != nil {
			return
		}
	}
}

// floodHTTP2 sends concurrent requests over one connection.
func floodHTTP2(ctx context.Context, t *testing.T, address string) {
	c := client(t, 2, nil)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/", strings.NewReader("{}"))
				if err != nil {
					t.Error(err)
					return
				}
				if answer, err := c.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}
		})
	}
	all.Wait()
}

// A request with a chunked body ends its connection. If it is refused, the bytes after it are not
// read as another request.
func TestChunkedRequestEndsConnection(t *testing.T) {
	for name, request := range map[string]string{
		"trailer": "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nPOST / HTTP/1.1\r\nHost: " +
			"h\r\nX-Pad: " + strings.Repeat("a", 5000) + "\r\nContent-Length: 2\r\n\r\n{}",
		"two bodies": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" +
			plainRequest,
		"chunked": "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + plainRequest,
	} {
		t.Run(name, func(t *testing.T) {
			var served atomic.Int64
			s := listen(t, Config{Budget: budget.New(64 << 20), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
			})})
			defer shutdown(t, s)
			conn, err := net.Dial("tcp", s.Addr().String())
			clustertest.Must(t, err)
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			clustertest.Must(t, clustertest.Err(io.WriteString(conn, request)))
			answer, err := io.ReadAll(conn) // until the server closes it
			if n := strings.Count(string(answer), "HTTP/1.1 "); n != 1 || served.Load() != 1 {
				t.Errorf("%d answers, %d requests served (%v)\n%s", n, served.Load(), err, answer)
			}
		})
	}
}
