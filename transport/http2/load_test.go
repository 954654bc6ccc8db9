package http2

import (
	"net/http"
	"testing"
	"testing/synctest"

	frame "golang.org/x/net/http2"
)

// All connections together have no more requests in progress than the server permits, and one
// address leaves a tenth of them to others. A refused request may be sent again.
func TestStreamsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := dialPeer(t, func(http.ResponseWriter, *http.Request) { <-release }, frame.ClientPreface).begin()
		const limit = 100
		synctest.Wait()
		p.server.load.max, p.server.load.perHost = limit, limit-limit/10
		for i := range uint32(limit - limit/10) {
			p.request(2*i+1, true)
			synctest.Wait() // the request is counted before the next one
		}
		p.request(1001, true)
		p.wantReset(1001, frame.ErrCodeRefusedStream)
		other := newLoad(limit)
		a, b := other.share(addr("127.0.0.1:1")), other.share(addr("127.0.0.2:1"))
		other.add(a, limit-limit/10)
		if !other.full(a) || other.full(b) {
			t.Error("one address has no bound, or leaves nothing to another")
		}
		other.add(b, limit/10)
		if !other.full(b) {
			t.Error("all together have no bound")
		}
		other.release(a)
		other.release(b)
		if len(other.hosts) != 0 {
			t.Errorf("%d hosts are left", len(other.hosts))
		}
		close(release)
		synctest.Wait()
		if n := p.server.load.running.Load(); n != 0 {
			t.Errorf("%d requests are counted that have ended", n)
		}
		p.request(1003, true)
		p.wantAnswer(1003, "200")
	})
}

// All addresses of an IPv6 network share one limit, and other networks have their own.
func TestSharesOfNetworks(t *testing.T) {
	l := newLoad(100)
	first := l.share(addr("[2001:db8:1:2::1]:1"))
	for at, same := range map[string]bool{
		"[2001:db8:1:2:ffff:ffff:ffff:ffff]:9": true, "[2001:db8:1:3::1]:1": false, "192.0.2.1:1": false,
	} {
		s := l.share(addr(at))
		if (s == first) != same {
			t.Errorf("%s is in the network of %s: %v, want %v", at, first.host, s == first, same)
		}
		l.release(s)
	}
	l.release(first)
	if len(l.hosts) != 0 {
		t.Errorf("%d hosts are left", len(l.hosts))
	}
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
