package peernet

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// newTestNetwork returns an open network. change adjusts its options.
func newTestNetwork(t *testing.T, nodeID, clusterID string, change ...func(*Options)) *Network {
	t.Helper()
	options := Options{
		NodeID:    nodeID,
		ClusterID: func() string { return clusterID },
		Bind:      "127.0.0.1:0",
		Formats:   func() FormatRange { return FormatRange{1, 1} },
		Outdated:  func(err error) { t.Error(err) },
		Timeout:   10 * time.Second,
		Logger:    clustertest.Logger(t, 0),
	}
	for _, c := range change {
		c(&options)
	}
	p, err := Listen(context.Background(), options, OpenAddressBook(filepath.Join(t.TempDir(), storage.AddressesName), options.Logger))
	clustertest.Must(t, err)
	p.AddGroup(0)
	p.Serve()
	p.Open()
	t.Cleanup(func() {
		clustertest.Check(t, p.Close())
	})
	return p
}

func TestPeersConnectByNodeID(t *testing.T) {
	clustertest.VerifyNoLeaks(t)
	t.Run("", func(t *testing.T) {
		a, b := newTestNetwork(t, "a-1", "c"), newTestNetwork(t, "b-2", "c")
		ctx := clustertest.Context(t)
		if _, err := a.Dial(ctx, "b-2", KindTerms, 0); err == nil || !strings.Contains(err.Error(), "not known") {
			t.Fatalf("an unknown node: %v", err)
		}
		a.book.Note("b-2", "127.0.0.1:1", 1)
		a.book.Note("b-2", b.BoundAddr(), 2) // started again elsewhere
		a.book.Note("b-2", "127.0.0.1:1", 1) // outdated
		for _, kind := range []Kind{KindTerms, KindConsensus} {
			conn, err := a.Dial(ctx, "b-2", kind, 0)
			clustertest.Must(t, err)
			accepted, err := b.Listener(kind, 0).Accept()
			clustertest.Must(t, err)
			go conn.Write([]byte("hello"))
			got := make([]byte, 5)
			if _, err := io.ReadFull(accepted, got); err != nil || string(got) != "hello" {
				t.Fatalf("%s: got %q, %v", kind, got, err)
			}
		}
	})
}

func TestPeersRefuseUnauthenticated(t *testing.T) {
	tests := []struct {
		name     string
		from, to string // cluster ids
		greeting hello
		want     string
	}{
		{"another node", "c", "c", hello{kind: KindConsensus, cluster: "c", from: "a-1", to: "x-9"}, errNotHere.Error()},
		{"another cluster", "c", "d", hello{kind: KindConsensus, cluster: "c", from: "a-1", to: "b-2"}, errNotHere.Error()},
		{"no cluster yet", "c", "", hello{kind: KindTerms, cluster: "c", from: "a-1", to: "b-2"}, errNotHere.Error()},
		{"another group", "c", "c", hello{kind: KindConsensus, group: 4, cluster: "c", from: "a-1", to: "b-2"}, "no group 4"},
		{"an unknown use", "c", "c", hello{kind: 200, cluster: "c", from: "a-1", to: "b-2"}, "kind 200"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newTestNetwork(t, "b-2", test.to)
			conn, err := net.Dial("tcp", b.BoundAddr())
			clustertest.Must(t, err)
			defer conn.Close()
			clustertest.Must(t, test.greeting.write(conn))
			_, err = readAnswer(conn)
			if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Fatal("the refused connection stays open")
			}
		})
	}
}

// The refusal of a node of another cluster reveals neither the cluster nor the reason; the log has
// both.
func TestRefusalRevealsNothing(t *testing.T) {
	log := &lines{}
	a := newTestNetwork(t, "a-1", "c")
	b := newTestNetwork(t, "b-2", "secret", func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	a.book.Note("b-2", b.BoundAddr(), 1)
	_, err := a.Dial(clustertest.Context(t), "b-2", KindTerms, 0)
	if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), errNotHere.Error()) {
		t.Fatalf("got %v", err)
	}
	awaitTrue(t, "the reason in the log", func() bool { return log.count("belongs to cluster secret, not to c") == 1 })
}

func TestPeersWithoutClusterDoNotDial(t *testing.T) {
	a, b := newTestNetwork(t, "a-1", ""), newTestNetwork(t, "b-2", "d")
	a.book.Note("b-2", b.BoundAddr(), 1)
	if _, err := a.Dial(clustertest.Context(t), "b-2", KindTerms, 0); err == nil {
		t.Fatal("a node without a cluster reached one with")
	}
}

func TestPeersEndSilentAndForeignConnections(t *testing.T) {
	b := newTestNetwork(t, "b-2", "c", func(o *Options) { o.Timeout = time.Millisecond })
	for name, text := range map[string]string{"silent": "", "half": "SRT", "http": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"endless": strings.Repeat("SRTM\x01\x01\x00\x00\x00\x00\x00\x00\xff\xff", 50)} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", b.BoundAddr())
			clustertest.Must(t, err)
			defer conn.Close()
			clustertest.Must(t, clustertest.Err(conn.Write([]byte(text))))
			clustertest.Must(t, conn.SetReadDeadline(time.Now().Add(clustertest.Timeout)))
			_, err = io.ReadAll(conn)
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("the connection stays open")
			}
		})
	}
}

func TestPeersBoundTheHandshakes(t *testing.T) {
	b := newTestNetwork(t, "b-2", "c")
	var silent []net.Conn
	for range handshakesPerHost + 1 {
		conn, err := net.Dial("tcp", b.BoundAddr())
		clustertest.Must(t, err)
		defer conn.Close()
		silent = append(silent, conn)
	}
	// The last connection is closed at once, long before the others time out.
	last := silent[handshakesPerHost]
	clustertest.Must(t, last.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err := last.Read(make([]byte, 1))
	if timeout := net.Error(nil); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatalf("one handshake too many is waited for: %v", err)
	}
	// Silent connections of one host leave room for those of another.
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := from.Dial("tcp", b.BoundAddr())
	if err != nil {
		t.Skipf("this machine has one loopback address only: %v", err)
	}
	defer conn.Close()
	clustertest.Must(t, (hello{kind: KindConsensus, cluster: "c", from: "a-1", to: "b-2", formats: FormatRange{1, 1}}).write(conn))
	if _, err := readAnswer(conn); err != nil {
		t.Errorf("a node at another address: %v", err)
	}
}

// Any number of connections from other addresses leaves room for a host that has a node.
func TestHandshakesOfNodesHavePlaces(t *testing.T) {
	b := newTestNetwork(t, "b-2", "c")
	answer := func() error {
		conn, err := net.Dial("tcp", b.BoundAddr())
		clustertest.Must(t, err)
		defer conn.Close()
		clustertest.Must(t, (hello{kind: KindConsensus, cluster: "c", from: "a-1", to: "b-2", formats: FormatRange{1, 1}}).write(conn))
		clustertest.Must(t, conn.SetReadDeadline(time.Now().Add(clustertest.Timeout)))
		_, err = readAnswer(conn)
		return err
	}
	clustertest.Must(t, answer())
	for i := range handshakesMax {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i/handshakesPerHost))}}
		conn, err := from.Dial("tcp", b.BoundAddr())
		if err != nil {
			t.Skipf("this machine has one loopback address only: %v", err)
		}
		defer conn.Close()
	}
	if err := answer(); err != nil {
		t.Errorf("a node beside %d silent connections: %v", handshakesMax, err)
	}
}

func TestAddressBookSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), storage.AddressesName)
	book := OpenAddressBook(path, clustertest.Logger(t, 0))
	book.Note("b-2", "10.0.0.2:9326", 3)
	clustertest.Must(t, storage.WriteRecord(path, book.entries))
	if got := OpenAddressBook(path, clustertest.Logger(t, 0)).Lookup("b-2"); got != "10.0.0.2:9326" {
		t.Fatalf("got %q", got)
	}
	clustertest.FlipBit(t, path, 10)
	if got := OpenAddressBook(path, clustertest.Logger(t, 0)).Lookup("b-2"); got != "" {
		t.Fatalf("a damaged book says %q", got)
	}
}

// The function of WhenLost gets the node of a broken connection, but not of one that this node
// closed.
func TestBrokenConnectionIsReported(t *testing.T) {
	a, b := newTestNetwork(t, "a-1", "c"), newTestNetwork(t, "b-2", "c")
	lost := make(chan string, 2) // one expected, one not
	a.WhenLost(func(nodeID string) { lost <- nodeID })
	a.book.Note("b-2", b.BoundAddr(), 1)
	for _, own := range []bool{true, false} {
		conn, err := a.Dial(clustertest.Context(t), "b-2", KindTerms, 0)
		clustertest.Must(t, err)
		accepted, err := b.Listener(KindTerms, 0).Accept()
		clustertest.Must(t, err)
		first, second := accepted, conn
		if own {
			first, second = conn, accepted
		}
		clustertest.Check(t, first.Close())
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a closed connection was read")
		}
		clustertest.Check(t, second.Close())
	}
	if got := len(lost); got != 1 {
		t.Fatalf("reported %d times", got)
	}
	if node := <-lost; node != "b-2" {
		t.Errorf("reported %q", node)
	}
}
