package http2

import (
	"net/http"
	"testing"
	"testing/synctest"

	frame "golang.org/x/net/http2"
)

// All connections together have no more requests under way than the server permits, and
// those of one address leave a tenth to others. What is refused may be sent again.
func TestStreamsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := dialPeer(t, func(http.ResponseWriter, *http.Request) { <-release }, frame.ClientPreface).settle()
		const limit = 100
		synctest.Wait()
		p.server.load.max, p.server.load.perHost = limit, limit-limit/10
		for i := range uint32(limit - limit/10) {
			p.request(2*i+1, true)
			synctest.Wait() // the next one sees that it runs
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

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
