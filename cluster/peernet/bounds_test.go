package peernet

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// arrive opens a connection to b from a node.
func arrive(t *testing.T, b *Network, from string) (net.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", b.BoundAddr())
	clustertest.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	greeting := hello{kind: KindConsensus, cluster: "c", from: from, to: b.NodeID(), formats: FormatRange{1, 1}}
	clustertest.Must(t, greeting.write(conn))
	_, err = readAnswer(conn)
	return conn, err
}

// The number of open connections is bounded, because they cost memory.
func TestOpenConnectionsAreBounded(t *testing.T) {
	b := newTestNetwork(t, "b-2", "c")
	listener := b.Listener(KindConsensus, 0)
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	oldest, err := arrive(t, b, "n0")
	clustertest.Must(t, err)
	<-accepted
	for range connsPerNode {
		clustertest.Must(t, clustertest.Err(arrive(t, b, "n0")))
		<-accepted
	}
	if _, err := oldest.Read(make([]byte, 1)); err == nil {
		t.Error("the oldest connection of a node with too many sends something")
	}
	for open := connsPerNode; open < connsMax; open++ {
		if _, err := arrive(t, b, fmt.Sprintf("n%d", open/connsPerNode)); err != nil {
			t.Fatalf("connection %d: %v", open, err)
		}
		<-accepted
	}
	if _, err := arrive(t, b, "another"); !errors.Is(err, ErrRefused) {
		t.Errorf("one more connection than all nodes may have: %v", err)
	}
	// When some end, there is room again.
	b.mu.Lock()
	var one *peerConn
	for conn := range b.conns {
		one = conn
	}
	b.mu.Unlock()
	one.Close()
	if _, err := arrive(t, b, "another"); err != nil {
		t.Errorf("when one is closed: %v", err)
	}
	<-accepted
}
