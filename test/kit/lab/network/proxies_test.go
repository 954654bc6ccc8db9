package network

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// wired are hosts a and b behind proxies: b echoes on its peer port, both gossip.
type wired struct {
	*Proxies
	t      *testing.T
	gossip map[string]*net.UDPConn
}

func newWired(t *testing.T) *wired {
	t.Helper()
	p, err := NewProxies(Options{Seed: 1, Ports: NodePorts()}, "a", "b")
	if err != nil {
		t.Skipf("this machine has one loopback address only: %v", err)
	}
	t.Cleanup(func() { check(t, p.Close()) })
	w := &wired{Proxies: p, t: t, gossip: map[string]*net.UDPConn{}}
	for _, host := range []string{"a", "b"} {
		bind, _ := p.Addresses(host)
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(bind, NodePorts().Gossip)))
		check(t, err)
		t.Cleanup(func() { conn.Close() })
		w.gossip[host] = conn
	}
	bind, _ := p.Addresses("b")
	listener, err := net.Listen("tcp4", netip.AddrPortFrom(bind, NodePorts().Peer).String())
	check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				conn.Close()
			}()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dial connects a host, or the client, to the peer port of b.
func (w *wired) dial(host string) net.Conn {
	w.t.Helper()
	dialer := net.Dialer{Timeout: time.Minute}
	if bind, _ := w.Addresses(host); bind.IsValid() {
		dialer.LocalAddr = &net.TCPAddr{IP: bind.AsSlice()}
	}
	_, announced := w.Addresses("b")
	conn, err := dialer.Dial("tcp4", netip.AddrPortFrom(announced, NodePorts().Peer).String())
	check(w.t, err)
	w.t.Cleanup(func() { conn.Close() })
	return conn
}

const raftHello = "SRTM\x01\x04\x00\x00"

func (w *wired) say(conn net.Conn, text string) {
	w.t.Helper()
	_, err := conn.Write([]byte(text))
	check(w.t, err)
}

func (w *wired) hear(conn net.Conn, text string) {
	w.t.Helper()
	check(w.t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		w.t.Fatalf("heard %q, %v, want %q", got, err, text)
	}
}

// await waits until the proxies have counted something.
func (w *wired) await(what string, enough func(Traffic) bool) {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); !enough(w.Traffic()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("no %s: %v", what, w.Traffic())
		}
	}
}

func TestProxiesTellDirectionsApart(t *testing.T) {
	w := newWired(t)
	conn := w.dial("a")
	w.say(conn, raftHello)
	w.hear(conn, raftHello)
	for _, c := range []struct {
		policy   Policy
		from, to string
	}{{OneWay("a", "b"), "a", "b"}, {OneWay("b", "a"), "b", "a"}, {Isolate("a").Only(Raft), "a", "b"}} {
		before := w.Traffic().Of(c.from, c.to, Raft).Cut
		check(t, w.SetPolicy(c.policy))
		w.say(conn, "held back")
		w.await("cut from "+c.from, func(tr Traffic) bool { return tr.Of(c.from, c.to, Raft).Cut > before })
		check(t, w.SetPolicy(Heal()))
		w.hear(conn, "held back") // late, but whole
	}
	// What is cut for others, and for other kinds of traffic, goes on.
	check(t, w.SetPolicy(Isolate("a").Only(Gossip)))
	w.say(conn, "goes on")
	w.hear(conn, "goes on")
	check(t, w.SetPolicy(Isolate("a")))
	client := w.dial(Client)
	w.say(client, "from outside")
	w.hear(client, "from outside")
}

func TestProxiesBreakAndSlowStreams(t *testing.T) {
	w := newWired(t)
	conn := w.dial("a")
	text := string(bytes.Repeat([]byte("0123456789abcdef"), 4096))
	for _, policy := range []Policy{Delayed("", time.Millisecond, time.Millisecond), Slow("", 8_000_000), Flapping("", 5*time.Millisecond), Lossy("", 0.5)} {
		check(t, w.SetPolicy(policy))
		sent := make(chan error, 1)
		go func() {
			_, err := conn.Write([]byte(text))
			sent <- err
		}()
		w.hear(conn, text)
		check(t, <-sent)
	}
	check(t, w.SetPolicy(Policy{Rules: []Rule{{Link: Link{Reset: 1}}}}))
	w.say(conn, "breaks")
	check(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	if _, err := conn.Read(make([]byte, 10)); err == nil {
		t.Error("the connection was not broken")
	}
}

func TestProxiesRelayGossip(t *testing.T) {
	w := newWired(t)
	bind, announced := w.Addresses("a")
	_, announcedB := w.Addresses("b")
	send := func(text string) {
		t.Helper()
		_, err := w.gossip["a"].WriteToUDPAddrPort([]byte(text), netip.AddrPortFrom(announcedB, NodePorts().Gossip))
		check(t, err)
	}
	receive := func() string {
		t.Helper()
		check(t, w.gossip["b"].SetReadDeadline(time.Now().Add(30*time.Second)))
		buffer := make([]byte, 100)
		n, from, err := w.gossip["b"].ReadFromUDPAddrPort(buffer)
		check(t, err)
		if from.Addr().Unmap() != announced || from.Addr() == bind {
			t.Errorf("a datagram came from %v, and not from the proxy of a", from)
		}
		return string(buffer[:n])
	}
	send("one")
	if got := receive(); got != "one" {
		t.Errorf("received %q", got)
	}
	check(t, w.SetPolicy(Mute("a")))
	send("unheard")
	w.await("cut", func(tr Traffic) bool { return tr.Of("a", "b", Gossip).Cut == 1 })
	check(t, w.SetPolicy(Duplicating("", 1)))
	send("twice")
	for i := range 2 {
		if got := receive(); got != "twice" {
			t.Errorf("%d: received %q", i, got)
		}
	}
	check(t, w.SetPolicy(Lossy("", 1)))
	send("lost")
	w.await("loss", func(tr Traffic) bool { return tr.Of("a", "b", Gossip).Lost == 1 })
	if err := w.SetPolicy(Isolate("c")); err == nil {
		t.Error("a policy about a host that is not there was taken")
	}
}
