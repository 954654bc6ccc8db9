package membership

import (
	"crypto/rand"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/attacker"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// A node decrypts at most this many packets of a flood at its gossip port
// (docs/operate/security.md).
const decryptedPerSecond = 500

// refusedGossip returns how many packets and streams a node's gossip port refused for a reason.
func refusedGossip(t *testing.T, n *harness.Node, reason string) (count float64) {
	t.Helper()
	metrics, _ := serves(t, n)
	_, rest, _ := strings.Cut(metrics, gossipRefusals+reason+`"} `)
	text, _, _ := strings.Cut(rest, "\n")
	count, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s does not count %s: %v", n.Name, reason, err)
	}
	return count
}

// flood sends random packets, with the usual length and encryption version of gossip, until stop is
// closed.
func flood(conns []*net.UDPConn, stop <-chan struct{}) {
	packet := make([]byte, 1400)
	_, _ = rand.Read(packet)
	packet[0] = 1
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		for range 20 {
			for _, conn := range conns {
				_, _ = conn.Write(packet)
			}
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// TestGossipFlood floods the gossip port from several hosts. Only a bounded number of packets is
// decrypted, the rest is dropped before, and the nodes still know that the others live.
func TestGossipFlood(t *testing.T) {
	own := newAuthority(t)
	c := harness.New(t, harness.Options{Binary: binary, Env: func(node string) []string { return environment(t, own, node) },
		Args: []string{"--log-segment-size", "4MiB"}})
	l := startLoad(t, c)
	began := time.Now()
	before := map[string]float64{}
	for _, n := range c.Nodes {
		before[n.Name] = refusedGossip(t, n, "packet")
	}
	stop := make(chan struct{})
	var flooding sync.WaitGroup
	for host := byte(20); host < 28; host++ { // together more than the limit for unknown hosts
		var conns []*net.UDPConn
		for _, n := range c.Nodes {
			conn, err := attacker.New(host).Packets(n.Gossip())
			harness.Must(t, err)
			defer conn.Close()
			conns = append(conns, conn)
		}
		flooding.Go(func() { flood(conns, stop) })
	}
	const dropped = 30_000
	for _, n := range c.Nodes {
		await(t, n.Name+" to drop packets", func() bool { return refusedGossip(t, n, "flood") >= dropped })
	}
	calls := l.calls.Load()
	await(t, "clients to go on", func() bool { return l.calls.Load() >= calls+100 })
	for _, n := range c.Nodes {
		decrypted := refusedGossip(t, n, "packet") - before[n.Name]
		most := decryptedPerSecond * (1 + time.Since(began).Seconds())
		if decrypted > most {
			t.Errorf("%s has decrypted %v packets without the key, at most %.0f are expected", n.Name, decrypted, most)
		}
		t.Logf("%s has decrypted %v packets without the key and dropped %v in %v", n.Name, decrypted, refusedGossip(t, n, "flood"),
			time.Since(began))
	}
	close(stop)
	flooding.Wait()
	for _, n := range c.Nodes {
		if strings.Contains(n.Log(), `"alive":false`) {
			t.Errorf("%s has believed that a node is away:\n%s", n.Name, n.LogTail())
		}
	}
	if failed := l.finish(); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
}
