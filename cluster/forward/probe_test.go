package forward

import (
	"context"
	"net"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
)

func dialed(t *testing.T, address string) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	clustertest.Must(t, err)
	return conn
}

// A probe is answered and does not affect the stream of the same node.
func TestProbe(t *testing.T) {
	s := serveFramed(t)
	s.open()
	stream := s.connect(t)
	for range 2 {
		clustertest.Must(t, Probe(t.Context(), dialed(t, s.address), "asker/probe1", "self", testGroup))
		if a := exchange(t, stream, s.frame(nil)); a.Outcome != peerpb.Outcome_OUTCOME_ANSWERED {
			t.Fatalf("after a probe: %v", a)
		}
	}
}

// A node that does not lead answers a probe, too.
func TestProbeOfAFollower(t *testing.T) {
	s := newServing(t)
	s.options.Term = func() *leader.Term { return nil }
	clustertest.Must(t, Probe(t.Context(), dialed(t, serveFramedOf(t, s).address), "asker/probe1", "self", testGroup))
}

// A probe without an answer ends with its context.
func TestProbeWithoutAnAnswer(t *testing.T) {
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts nothing
	clustertest.Must(t, err)
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	conn := dialed(t, listener.Addr().String())
	go func() { done <- Probe(ctx, conn, "asker/probe1", "self", testGroup) }() // awaited below
	cancel()
	if err := <-done; err == nil {
		t.Error("answered")
	}
}
