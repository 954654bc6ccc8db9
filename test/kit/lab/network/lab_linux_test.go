package network

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// waitMax bounds the wait for expected frames. A test that expects no frame waits for a shorter
// time, and only after a counter has shown that the switch had the frames.
const waitMax = 30 * time.Second

var testPorts = NodePorts()

func newTestLab(t *testing.T, hosts ...string) *Lab {
	t.Helper()
	l, err := New(Options{Seed: 1, Ports: testPorts}, hosts...)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// box receives datagrams on a host.
type box struct {
	conn    *net.UDPConn
	address netip.AddrPort
}

func (l *Lab) box(t *testing.T, host string, port uint16) *box {
	t.Helper()
	b := &box{address: netip.AddrPortFrom(l.Host(host).Address(), port)}
	must(t, l.Host(host).Do(func() (err error) {
		b.conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(b.address))
		return err
	}))
	t.Cleanup(func() { b.conn.Close() })
	return b
}

// pair returns boxes on two hosts that know each other's hardware address, since an ARP request
// would delay the first frames.
func (l *Lab) pair(t *testing.T, host, other string) (a, b *box) {
	t.Helper()
	a, b = l.box(t, host, 5000), l.box(t, other, 5000)
	a.send(t, b, 1)
	b.receive(t, 1)
	return l.box(t, host, testPorts.Gossip), l.box(t, other, testPorts.Gossip)
}

// send numbers datagrams from 0.
func (b *box) send(t *testing.T, to *box, count int) {
	t.Helper()
	for i := range count {
		_, err := b.conn.WriteToUDPAddrPort(fmt.Appendf(nil, "datagram number %d", i), to.address)
		must(t, err)
	}
}

// receive returns the numbers of so many datagrams, and checks their content.
func (b *box) receive(t *testing.T, count int) []int {
	t.Helper()
	must(t, b.conn.SetReadDeadline(time.Now().Add(waitMax)))
	var numbers []int
	buffer := make([]byte, 2000)
	for range count {
		n, err := b.conn.Read(buffer)
		must(t, err)
		var number int
		if _, err := fmt.Sscanf(string(buffer[:n]), "datagram number %d", &number); err != nil {
			t.Fatalf("received %q", buffer[:n])
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// waitFor waits until the counts of the switch meet a condition.
func (l *Lab) waitFor(t *testing.T, what string, enough func(Traffic) bool) Traffic {
	t.Helper()
	deadline := time.Now().Add(waitMax)
	for {
		traffic := l.Traffic()
		if enough(traffic) {
			return traffic
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s: %v", what, traffic)
		}
		time.Sleep(time.Millisecond)
	}
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// serve answers each connection with a digest of the received bytes.
func (l *Lab) serve(t *testing.T, host string, port uint16) string {
	t.Helper()
	address := netip.AddrPortFrom(l.Host(host).Address(), port).String()
	var listener net.Listener
	must(t, l.Host(host).Do(func() (err error) {
		listener, err = net.Listen("tcp4", address)
		return err
	}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			content, _ := io.ReadAll(conn)
			digest := sha256.Sum256(content)
			_, _ = conn.Write(digest[:])
			conn.Close()
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return address
}

func exchange(conn net.Conn, content []byte) error {
	if err := conn.SetDeadline(time.Now().Add(waitMax)); err != nil {
		return err
	}
	if _, err := conn.Write(content); err != nil {
		return err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if want := sha256.Sum256(content); err == nil && !bytes.Equal(answer, want[:]) {
		err = fmt.Errorf("the digest %x is not that of what was sent", answer)
	}
	return err
}

func (l *Lab) dial(t *testing.T, host, address string) net.Conn {
	t.Helper()
	var conn net.Conn
	dial := func() (err error) {
		conn, err = net.DialTimeout("tcp4", address, waitMax)
		return err
	}
	if host == Client {
		must(t, dial())
	} else {
		must(t, l.Host(host).Do(dial))
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// reach returns the pairs of hosts, in both orders, between which datagrams pass.
func (l *Lab) reach(t *testing.T, boxes map[string]*box, names []string) string {
	t.Helper()
	before := l.Traffic()
	for _, from := range names {
		for _, to := range names {
			if from != to {
				boxes[from].send(t, boxes[to], 1)
			}
		}
	}
	var passed []string
	for _, from := range names {
		for _, to := range names {
			if from == to {
				continue
			}
			total := func(tr Traffic) uint64 {
				c, old := tr.Of(from, to, Gossip), before.Of(from, to, Gossip)
				return c[Passed] + c[Cut] + c[Lost] - old[Passed] - old[Cut] - old[Lost]
			}
			tr := l.waitFor(t, "decision about "+from+" to "+to, func(tr Traffic) bool { return total(tr) == 1 })
			if tr.Of(from, to, Gossip)[Passed] > before.Of(from, to, Gossip)[Passed] {
				passed = append(passed, from+to)
			}
		}
	}
	// Datagrams that pass arrive, and no dropped one has arrived before them.
	for _, to := range names {
		var want int
		for _, pair := range passed {
			if strings.HasSuffix(pair, to) {
				want++
			}
		}
		boxes[to].receive(t, want)
		must(t, boxes[to].conn.SetReadDeadline(time.Now()))
		if n, err := boxes[to].conn.Read(make([]byte, 100)); err == nil {
			t.Errorf("%s received one more, of %d bytes", to, n)
		}
	}
	return strings.Join(passed, " ")
}

// TestPartitions checks which hosts reach each other.
func TestPartitions(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	l := newTestLab(t, names...)
	boxes := map[string]*box{}
	for _, name := range names {
		boxes[name] = l.box(t, name, testPorts.Gossip)
	}
	three, five := names[:3], names
	cases := []struct {
		policy Policy
		among  []string
		passed string
	}{
		{Heal(), three, "ab ac ba bc ca cb"},
		{Isolate("a"), three, "bc cb"},
		{Unplug("b"), three, "ac ca"},
		{Unserved("b"), three, "ab ac ba bc ca cb"},
		{OneWay("a", "b"), three, "ac ba bc ca cb"},
		{Deaf("a"), three, "ab ac bc cb"},
		{Mute("a"), three, "ba bc ca cb"},
		{Deaf("a").And(Mute("b")), three, "ab ac cb"},
		{LeaderToOneFollower("a", "b", "c"), three, "ab ba bc cb"},
		{Ring("a", "b", "c"), three, "ab ba bc cb"},
		{Ring("a", "b", "c", "d", "e"), five, "ab ae ba bc cb cd dc de ea ed"},
		{Halves([]string{"a", "b"}, []string{"c", "d", "e"}), five, "ab ba cd ce dc de ec ed"},
		{Bridge("c", []string{"a", "b"}, []string{"d", "e"}), five, "ab ac ba bc ca cb cd ce dc de ec ed"},
		{Isolate("a").Only(Gossip), three, "bc cb"},
		{Isolate("a").Only(Raft, Forward), three, "ab ac ba bc ca cb"},
		{Lossy("", 1), three, ""},
		{Heal(), three, "ab ac ba bc ca cb"},
	}
	for _, c := range cases {
		t.Run(c.policy.Name, func(t *testing.T) {
			must(t, l.SetPolicy(c.policy))
			if got := l.reach(t, boxes, c.among); got != c.passed {
				t.Errorf("passed %q, want %q", got, c.passed)
			}
		})
	}
}

func TestDuplicatesArriveTwice(t *testing.T) {
	l := newTestLab(t, "a", "b")
	a, b := l.pair(t, "a", "b")
	must(t, l.SetPolicy(Duplicating("", 1)))
	a.send(t, b, 3)
	if got := b.receive(t, 6); !slices.Equal(got, []int{0, 0, 1, 1, 2, 2}) {
		t.Errorf("received %v", got)
	}
}

func TestDelayKeepsAndJitterChangesTheOrder(t *testing.T) {
	l := newTestLab(t, "a", "b")
	a, b := l.pair(t, "a", "b")
	must(t, l.SetPolicy(Delayed("a", 10*time.Millisecond, 0)))
	a.send(t, b, 50)
	if got := b.receive(t, 50); !slices.Equal(got, numbers(50)) {
		t.Errorf("a delay of all changed the order: %v", got)
	}
	must(t, l.SetPolicy(Delayed("a", 0, 200*time.Millisecond)))
	a.send(t, b, 50)
	got := b.receive(t, 50)
	if slices.IsSorted(got) {
		t.Error("jitter of 200 ms left 50 datagrams in order")
	}
	slices.Sort(got)
	if !slices.Equal(got, numbers(50)) {
		t.Errorf("received %v", got)
	}
}

func TestCorruptionIsNoticedByTheKernel(t *testing.T) {
	l := newTestLab(t, "a", "b")
	a, b := l.pair(t, "a", "b")
	must(t, l.SetPolicy(Corrupting("", 1)))
	a.send(t, b, 20)
	l.waitFor(t, "corruption", func(tr Traffic) bool { return tr.Of("a", "b", Gossip)[Corrupted] == 20 })
	must(t, l.SetPolicy(Heal()))
	a.send(t, b, 1)
	// receive fails if a datagram is damaged.
	if got := b.receive(t, 1); got[0] != 0 {
		t.Errorf("received %v", got)
	}
}

func TestResetBreaksBothEnds(t *testing.T) {
	l := newTestLab(t, "a", "b")
	address := netip.AddrPortFrom(l.Host("b").Address(), testPorts.API).String()
	var listener net.Listener
	must(t, l.Host("b").Do(func() (err error) { listener, err = net.Listen("tcp4", address); return err }))
	defer listener.Close()
	near := l.dial(t, Client, address)
	far, err := listener.Accept()
	must(t, err)
	defer far.Close()
	must(t, l.SetPolicy(Resetting("b", 1)))
	_, err = near.Write([]byte("breaks"))
	must(t, err)
	for name, conn := range map[string]net.Conn{"dialed": near, "accepted": far} {
		must(t, conn.SetReadDeadline(time.Now().Add(waitMax)))
		if _, err := conn.Read(make([]byte, 10)); err == nil || !strings.Contains(err.Error(), "reset") {
			t.Errorf("the %s end says %v", name, err)
		}
	}
	if c := l.Traffic().Of(Client, "b", API); c[Reset] != 1 {
		t.Errorf("the switch counted %v", c)
	}
}

func TestHalfOpenHidesTheEnd(t *testing.T) {
	l := newTestLab(t, "a", "b")
	address := netip.AddrPortFrom(l.Host("b").Address(), testPorts.Admin).String()
	var listener net.Listener
	must(t, l.Host("b").Do(func() (err error) { listener, err = net.Listen("tcp4", address); return err }))
	defer listener.Close()
	near := l.dial(t, "a", address)
	far, err := listener.Accept()
	must(t, err)
	defer far.Close()
	must(t, l.SetPolicy(HalfOpen("")))
	near.Close()
	l.waitFor(t, "hidden end", func(tr Traffic) bool { return tr.Of("a", "b", Admin)[Hidden] > 0 })
	// The other end can still write: it was not notified.
	_, err = far.Write([]byte("are you there?"))
	must(t, err)
	must(t, l.SetPolicy(Heal()))
	must(t, far.SetReadDeadline(time.Now().Add(waitMax)))
	if _, err := far.Read(make([]byte, 10)); err == nil {
		t.Error("the end never showed")
	}
}

// TestClasses checks that handshakes tell the classes of connections between nodes.
func TestClasses(t *testing.T) {
	l := newTestLab(t, "a", "b")
	address := l.serve(t, "b", testPorts.Peer)
	cases := []struct {
		kind  byte
		class Class
	}{{1, Peer}, {2, Peer}, {3, Raft}, {4, Raft}, {5, Raft}, {6, Raft}, {7, Forward}, {8, Peer}, {77, Peer}}
	for _, c := range cases {
		before := l.Traffic()
		hello := append([]byte{'S', 'R', 'T', 'M', 1, c.kind, 0, 0}, binary.BigEndian.AppendUint32(nil, 0)...)
		must(t, exchange(l.dial(t, "a", address), append(hello, make([]byte, 5000)...)))
		after := l.Traffic()
		if grown := after.Of("a", "b", c.class)[Passed] - before.Of("a", "b", c.class)[Passed]; grown < 4 {
			t.Errorf("kind %d: %d frames in class %v: %v", c.kind, grown, c.class, after)
		}
		if grown := after.Of("b", "a", c.class)[Passed] - before.Of("b", "a", c.class)[Passed]; grown < 1 {
			t.Errorf("kind %d: %d answers in class %v: %v", c.kind, grown, c.class, after)
		}
	}
	must(t, l.SetPolicy(Isolate("a").Only(Raft)))
	must(t, exchange(l.dial(t, "a", address), []byte("SRTM\x01\x07, which is not cut")))
	if c := l.Traffic().Of("", "", Forward); c[Cut] != 0 {
		t.Errorf("the switch cut %v", c)
	}
}

func TestNothingIsLeft(t *testing.T) {
	before, err := net.Interfaces()
	must(t, err)
	for range 3 {
		l, err := New(Options{Ports: testPorts}, "a", "b")
		must(t, err)
		must(t, exchange(l.dial(t, Client, l.serve(t, "a", testPorts.API)), []byte("x")))
		must(t, l.Close())
		must(t, l.Close())
	}
	after, err := net.Interfaces()
	must(t, err)
	if len(after) != len(before) {
		t.Errorf("%d interfaces were %d", len(after), len(before))
	}
	must(t, Available())
}
