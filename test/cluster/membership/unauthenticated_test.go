package membership

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	bigendian "encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/attacker"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// caller attacks the ports between nodes without credentials.
type caller struct {
	*attacker.Client
	t *testing.T
}

// heldMax is more connections than the peer or the gossip port permits from one host.
const heldMax = 150

// holdOpen opens silent connections and incomplete handshakes at both ports, up to their limits.
func (s *caller) holdOpen(n *harness.Node) {
	half := "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" // the beginning of a ClientHello of 512 bytes
	for range heldMax / 2 {
		s.Hold(n.Peer(), 1, half)
		s.Hold(n.Peer(), 1, "")
		s.Hold(n.Gossip(), 2, "")
	}
}

// tryPeer sends invalid handshakes, and handshakes with wrong certificates.
func (s *caller) tryPeer(n *harness.Node, status harness.Status, own, foreign *harness.Authority) {
	random := make([]byte, 1<<20)
	_, _ = rand.Read(random)
	noise := string(random)
	s.Dial(n.Peer(), noise)
	s.Dial(n.Peer(), "\x16\x03\x03\xff\xff"+noise) // longer than any record
	s.Dial(n.Peer(), string(hello(status.ClusterID, "n1-00000000", status.NodeID)))
	for _, tc := range []struct {
		pair    *harness.Authority // nil: no certificate
		cluster string
	}{{nil, status.ClusterID}, {foreign, status.ClusterID}, {own, "0123456789abcdef"}} {
		config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} //nolint:gosec // an attacker trusts every certificate
		if tc.pair != nil {
			pair, err := tls.LoadX509KeyPair(tc.pair.File("n4.crt"), tc.pair.File("n4.key"))
			if err != nil {
				s.t.Error(err)
				return
			}
			config.Certificates = []tls.Certificate{pair}
		}
		raw := s.Dial(n.Peer(), "")
		if raw == nil {
			s.t.Errorf("%s takes no connection", n.Name)
			return
		}
		conn := tls.Client(raw, config)
		answer := make([]byte, 8)
		_, _ = conn.Write(hello(tc.cluster, "n4-00000000", status.NodeID))
		if got, err := conn.Read(answer); err == nil && got >= 6 && answer[5] == 0 {
			s.t.Errorf("%s accepts a node without a valid certificate in cluster %s", n.Name, tc.cluster)
		}
	}
}

// hello returns the first message of a node on a connection for forwarded calls.
func hello(cluster, from, to string) []byte {
	message := append([]byte("SRTM"), 1, 7, 0, 0, 0, 0, 0, 0)
	for _, text := range []string{cluster, from, to} {
		message = bigendian.BigEndian.AppendUint16(message, uint16(len(text)))
		message = append(message, text...)
	}
	return message
}

// tryGossip sends packets and streams that are not encrypted with the key.
func (s *caller) tryGossip(n *harness.Node) {
	conn, err := s.Packets(n.Gossip())
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	noise := make([]byte, 1400)
	_, _ = rand.Read(noise)
	for size := range 500 {
		_, _ = conn.Write(noise[:1+size*2])
	}
	// A stream that claims to be encrypted and 19 MiB long, and an unencrypted one.
	long := bigendian.BigEndian.AppendUint32([]byte{10}, 19<<20)
	s.Dial(n.Gossip(), string(append(long, bytes.Repeat(noise, 1000)...)))
	s.Dial(n.Gossip(), "\x06"+string(noise))
}

// TestUnauthenticatedCallersCostLittle attacks the peer and gossip ports of every node with
// silence, incomplete handshakes, random bytes, a certificate of another authority, the id of
// another cluster, and a node without the gossip key. None of them joins, open connections and log
// lines stay bounded, and no call of a client fails.
func TestUnauthenticatedCallersCostLittle(t *testing.T) {
	own, foreign := newAuthority(t), newAuthority(t)
	env := func(node string) []string {
		if node != "n4" {
			return environment(t, own, node)
		}
		return append(environment(t, own, node)[:3], environment(t, foreign, node)[3])
	}
	c := harness.New(t, harness.Options{Binary: binary, Env: env, Args: []string{"--log-segment-size", "4MiB", "--promote-after", "1s"}})
	withoutKey, err := c.Spare("n4")
	harness.Must(t, err)
	harness.Must(t, withoutKey.Start())
	t.Cleanup(func() { _ = withoutKey.Kill() })
	_, files := serves(t, c.Nodes[0])
	l := startLoad(t, c)
	began := time.Now()
	s, other := &caller{attacker.New(9), t}, &caller{attacker.New(10), t}
	defer s.HangUp()
	defer other.HangUp()
	var trying sync.WaitGroup
	for _, n := range c.Nodes {
		trying.Go(func() { s.holdOpen(n) })
	}
	trying.Wait()
	for _, n := range c.Nodes {
		awaitRefusals(t, n, peerRefusals, "busy")
		awaitRefusals(t, n, gossipRefusals, "busy")
		// The limits for one host at both ports, plus the connections of clients and nodes.
		if _, now := serves(t, n); now > files+64+32+100 {
			t.Errorf("%s has %d files open, before it had %d", n.Name, now, files)
		}
	}
	const calls = 300 // of clients, during the attacks
	for begin := l.calls.Load(); l.calls.Load() < begin+calls && time.Since(began) < waitMax; {
		for _, n := range c.Nodes {
			status, err := n.Status(t.Context())
			harness.Must(t, err)
			trying.Go(func() { other.tryPeer(n, status, own, foreign) })
			trying.Go(func() { other.tryGossip(n) })
		}
		trying.Wait()
		other.HangUp()
	}
	s.HangUp()
	for _, n := range c.Nodes {
		awaitRefusals(t, n, peerRefusals, "silent", "handshake", "objection")
		awaitRefusals(t, n, gossipRefusals, "stream", "packet")
	}
	leader, err := c.WaitLeader(t.Context(), waitMax)
	harness.Must(t, err)
	waitRoles(t, leader, "n1 voter, n2 voter, n3 voter")
	if err := withoutKey.Ready(t.Context()); err == nil {
		t.Error("a node without the gossip key is ready")
	}
	t.Logf("longest time without an answered send: %v", l.Gap(began))
	if failed := l.finish(); failed > 0 {
		t.Errorf("%d calls failed", failed)
	}
	for _, n := range c.Nodes {
		checkLog(t, n, time.Since(began))
	}
}

// Metrics of refusals, up to the reason.
const (
	peerRefusals   = `seriatim_peer_connections_refused_total{reason="`
	gossipRefusals = `seriatim_gossip_refused_total{reason="`
)

// refusalLines matches the lines that a node logs about refused callers.
var refusalLines = regexp.MustCompile(`(?m)^.*(to the peer port|of another node|component=gossip|"component":"gossip").*$`)

// checkLog checks that a node logged the refusals, and only a few of each kind.
func checkLog(t *testing.T, n *harness.Node, took time.Duration) {
	t.Helper()
	const kinds = 30 // five for the peer port, the others from the gossip library
	lines := refusalLines.FindAllString(n.Log(), -1)
	if most := kinds * (1 + int(took/(30*time.Second))); len(lines) > most {
		t.Errorf("%s has logged %d lines, expected are at most %d\n%s", n.Name, len(lines), most, strings.Join(lines, "\n"))
	}
	if !strings.Contains(strings.Join(lines, "\n"), "to the peer port") {
		t.Errorf("%s has logged no refused caller", n.Name)
	}
}

// serves returns the metrics of a node, and the number of its open files.
func serves(t *testing.T, n *harness.Node) (metrics string, files int) {
	t.Helper()
	metrics, err := n.Metrics(t.Context())
	harness.Must(t, err)
	_, rest, found := strings.Cut(metrics, "\nprocess_open_fds ")
	line, _, _ := strings.Cut(rest, "\n")
	files, err = strconv.Atoi(line)
	if !found || err != nil {
		t.Fatalf("%s does not say how many files it has open: %v", n.Name, err)
	}
	return metrics, files
}

// awaitRefusals waits until a node has counted refusals for each of the reasons.
func awaitRefusals(t *testing.T, n *harness.Node, series string, reasons ...string) {
	t.Helper()
	for _, reason := range reasons {
		await(t, n.Name+" to count "+series+reason, func() bool {
			metrics, _ := serves(t, n)
			_, rest, found := strings.Cut(metrics, series+reason+`"} `)
			return found && !strings.HasPrefix(rest, "0\n")
		})
	}
}
