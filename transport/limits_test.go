package transport

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
)

// from opens a connection from one of the loopback addresses.
func from(t *testing.T, s *Server, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := d.Dial("tcp", s.Addr().String())
	clustertest.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	clustertest.Must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

// limited starts a server that ends with the test.
func limited(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Addr, cfg.Logger, cfg.Now = "127.0.0.1:0", quiet(), time.Now
	s, err := Listen(t.Context(), cfg)
	clustertest.Must(t, err)
	t.Cleanup(func() { shutdown(t, s) })
	return s
}

// refusedFor counts the connections that were refused for a reason.
func refusedFor(s *Server, why string) uint64 {
	for _, refused := range s.Connections().Refused {
		if refused.Why == why {
			return refused.Count
		}
	}
	return 0
}

// plain is a small request.
const plain = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok"

// kinds maps the ways to serve requests to Config.NetHTTP.
var kinds = map[string]bool{"own": false, "net/http": true}

// One address gets at most its share of the connections, and another address still gets one.
func TestConnectionsOfAnAddress(t *testing.T) {
	for name, netHTTP := range kinds {
		t.Run(name, func(t *testing.T) {
			const limit = 3
			s := limited(t, Config{ConnectionsMax: 10, PerAddress: limit, Handler: echo, NetHTTP: netHTTP})
			for range limit {
				conn, reader := from(t, s, "127.0.0.1")
				send(t, conn, plain)
				answerOf(t, reader)
			}
			further, reader := from(t, s, "127.0.0.1")
			_, _ = io.WriteString(further, plain) // it may already be closed
			if _, err := http.ReadResponse(reader, nil); err == nil {
				t.Errorf("connection %d of one address is served", limit+1)
			}
			other, reader := from(t, s, "127.0.0.2")
			send(t, other, plain)
			answerOf(t, reader)
			if n := refusedFor(s, limits.RefusedAddress); n != 1 {
				t.Errorf("%d refusals are counted, want 1", n)
			}
			if open := s.Connections().Open; open != limit+1 {
				t.Errorf("%d are open, want %d", open, limit+1)
			}
		})
	}
}

// Connections of one address with incomplete requests do not exclude it: the oldest of them is
// closed for a new one.
func TestSilentConnectionsOfAnAddressGiveWay(t *testing.T) {
	for name, netHTTP := range kinds {
		t.Run(name, func(t *testing.T) {
			const limit = 3
			s := limited(t, Config{ConnectionsMax: 10, PerAddress: limit, Handler: echo, NetHTTP: netHTTP})
			for range 3 * limit {
				conn, _ := from(t, s, "127.0.0.1")
				_, _ = io.WriteString(conn, "GET /healthz/live HTTP/1.1\r\nHo")
			}
			probe, reader := from(t, s, "127.0.0.1")
			send(t, probe, plain)
			answerOf(t, reader)
			if n := refusedFor(s, limits.RefusedAddress); n != 0 {
				t.Errorf("%d connections were refused", n)
			}
			if n := refusedFor(s, limits.RefusedRoom); n != 2*limit+1 {
				t.Errorf("%d are counted that gave way, want %d", n, 2*limit+1)
			}
		})
	}
}

// Connections without a complete request do not exclude other clients, neither new ones nor those
// with an idle connection.
func TestSilentConnectionsGiveWay(t *testing.T) {
	for name, netHTTP := range kinds {
		t.Run(name, func(t *testing.T) {
			const limit = 4
			s := limited(t, Config{ConnectionsMax: limit, PerAddress: limit, Handler: echo, NetHTTP: netHTTP})
			friend, replies := dial(t, s)
			send(t, friend, plain)
			answerOf(t, replies)
			for _, first := range []string{"", "P", "POST / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: h\r\n", "PRI * HTTP/2.0\r\n",
				"\r\n", ""} {
				conn, _ := dial(t, s)
				send(t, conn, first)
			}
			late, reader := dial(t, s)
			send(t, late, plain)
			answerOf(t, reader)
			send(t, friend, plain)
			answerOf(t, replies)
			if n := refusedFor(s, limits.RefusedRoom); n < 4 {
				t.Errorf("%d are counted that gave way", n)
			}
		})
	}
}

// A client that is too slow loses its connection, and this is counted.
func TestLateClientsAreCounted(t *testing.T) {
	for why, act := range map[string]func(net.Conn){
		limits.RefusedSilent: func(c net.Conn) { _, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHo") },
		limits.RefusedSlow: func(c net.Conn) {
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf")
		},
	} {
		t.Run(why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				counts := map[string]int{}
				s := http1.New(t.Context(), http1.Config{Handler: echo, Now: time.Now, Logger: quiet(),
					Refused: func(why string, _ net.Addr, _ error) {
						mu.Lock()
						defer mu.Unlock()
						counts[why]++
					}})
				here, there := net.Pipe()
				s.Serve(there)
				act(here)
				_, _ = io.Copy(io.Discard, here) // until it is closed
				clustertest.Check(t, s.Shutdown(t.Context()))
				if len(counts) != 1 || counts[why] != 1 {
					t.Errorf("counted were %v", counts)
				}
			})
		})
	}
}
