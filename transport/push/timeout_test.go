package push

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A subscriber has 15 seconds for a complete answer, however much of it has arrived. The test runs
// in a bubble, in which connections are pipes.
func TestPostTimeout(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, scheme, answer string // the subscriber sends one byte of the answer each second, and then nothing
		status               int
	}{
		{"silence", "http", "", 0},
		{"headers that never end", "http", "HTTP/1.1 200 OK\r\nX-A: b\r\nX-C: d\r\n", 0},
		{"no handshake", "https", "", 0},
		{"content that never ends", "http", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx", http.StatusOK},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{}, 2) // the two goroutines of the connection
				p := newPoster(func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					asked := make(chan struct{})
					go func() {
						defer func() { ended <- struct{}{} }()
						defer there.Close()
						_, _ = there.Read(make([]byte, 1))
						close(asked)
						_, _ = io.Copy(io.Discard, there)
					}()
					go func() {
						defer func() { ended <- struct{}{} }()
						<-asked
						pause := time.Second
						if tc.status != 0 {
							pause = time.Millisecond
						}
						for i := range len(tc.answer) {
							if _, err := there.Write([]byte{tc.answer[i]}); err != nil {
								return
							}
							time.Sleep(pause)
						}
					}()
					return here, nil
				})
				defer p.Close()
				begun := time.Now()
				status, err := p.Post(t.Context(), tc.scheme+"://example.org/", nil, "m")
				if status != tc.status || (err == nil) != (tc.status != 0) {
					t.Errorf("status %d, %v", status, err)
				}
				if took := time.Since(begun); took != 15*time.Second {
					t.Errorf("the subscriber had %v", took)
				}
				<-ended
				<-ended
			})
		})
	}
}

// A post ends in time even if the subscriber switches to another protocol and sends nothing. The
// HTTP client does not limit the time of such a connection.
func TestPostSwitchesToNoProtocol(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	url, _ := subscriber(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			ended <- err
			return
		}
		defer conn.Close()
		if _, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"); err == nil {
			_, err = io.Copy(io.Discard, conn)
		}
		ended <- err
	})
	p := poster(t, loopback)
	posted := make(chan struct{})
	go func() {
		defer close(posted)
		if status, err := p.Post(t.Context(), url, nil, "m"); status != http.StatusSwitchingProtocols || err != nil {
			t.Errorf("status %d, %v", status, err)
		}
	}()
	select {
	case <-posted:
	case <-time.After(requestTimeout + 5*time.Second):
		t.Fatal("the subscriber has had more than its time")
	}
	if err := <-ended; err != nil {
		t.Errorf("the connection: %v", err)
	}
}

// A certificate of an unknown authority or for another name is a failure, and the message is not
// sent.
func TestPostVerifiesCertificates(t *testing.T) {
	t.Parallel()
	var served atomic.Bool
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Store(true) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	p := poster(t, loopback)
	if status, err := p.Post(t.Context(), s.URL, nil, "m"); err == nil || served.Load() {
		t.Errorf("status %d without trust", status)
	}
	trusting := poster(t, loopback)
	trusting.transport.TLSClientConfig = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		ServerName: "example.net"}
	if status, err := trusting.Post(t.Context(), s.URL, nil, "m"); err == nil || served.Load() {
		t.Errorf("status %d under another name", status)
	}
	trusting = poster(t, loopback)
	trusting.transport.TLSClientConfig = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	if status, err := trusting.Post(t.Context(), s.URL, nil, "m"); err != nil || status != http.StatusOK || !served.Load() {
		t.Errorf("status %d, %v with trust", status, err)
	}
}
