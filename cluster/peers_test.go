package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage"
)

func newTestPeers(t *testing.T, nodeID, clusterID string) *peers {
	t.Helper()
	return newPatientPeers(t, nodeID, clusterID, 10*time.Second)
}

func newPatientPeers(t *testing.T, nodeID, clusterID string, patience time.Duration) *peers {
	t.Helper()
	logger := testLogger(t, 0)
	p, err := listenPeers(context.Background(), peersConfig{
		nodeID:    nodeID,
		clusterID: func() string { return clusterID },
		bind:      "127.0.0.1:0",
		formats:   func() formatRange { return formatRange{1, 1} },
		outdated:  func(err error) { t.Error(err) },
		timeout:   patience,
		logger:    logger,
	}, openAddressBook(filepath.Join(t.TempDir(), storage.AddressesName), logger))
	if err != nil {
		t.Fatal(err)
	}
	p.serve()
	p.open()
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestPeersConnectByNodeID(t *testing.T) {
	defer verifyNoLeaks(t)
	t.Run("", func(t *testing.T) {
		a, b := newTestPeers(t, "a-1", "c"), newTestPeers(t, "b-2", "c")
		ctx := testContext(t)
		if _, err := a.dial(ctx, "b-2"); err == nil || !strings.Contains(err.Error(), "not known") {
			t.Fatalf("an unknown node: %v", err)
		}
		a.book.note("b-2", "127.0.0.1:1", 1)
		a.book.note("b-2", b.boundAddr(), 2) // started again elsewhere
		a.book.note("b-2", "127.0.0.1:1", 1) // late news
		for _, kind := range []connKind{connGRPC, connRaft} {
			conn, err := a.dialKind(ctx, "b-2", kind)
			if err != nil {
				t.Fatal(err)
			}
			accepted, err := b.incoming[kind].Accept()
			if err != nil {
				t.Fatal(err)
			}
			go conn.Write([]byte("hello"))
			got := make([]byte, 5)
			if _, err := io.ReadFull(accepted, got); err != nil || string(got) != "hello" {
				t.Fatalf("%s: got %q, %v", kind, got, err)
			}
		}
	})
}

func TestPeersRefuseStrangers(t *testing.T) {
	tests := []struct {
		name     string
		from, to string // cluster ids
		greeting hello
		want     string
	}{
		{"another node", "c", "c", hello{kind: connRaft, cluster: "c", from: "a-1", to: "x-9"}, "this is node b-2, not x-9"},
		{"another cluster", "c", "d", hello{kind: connRaft, cluster: "c", from: "a-1", to: "b-2"}, "belongs to cluster d, not to c"},
		{"no cluster yet", "c", "", hello{kind: connGRPC, cluster: "c", from: "a-1", to: "b-2"}, "belongs to no cluster yet"},
		{"another group", "c", "c", hello{kind: connRaft, group: 4, cluster: "c", from: "a-1", to: "b-2"}, "no group 4"},
		{"an unknown use", "c", "c", hello{kind: 9, cluster: "c", from: "a-1", to: "b-2"}, "kind 9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newTestPeers(t, "b-2", test.to)
			conn, err := net.Dial("tcp", b.boundAddr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := test.greeting.write(conn); err != nil {
				t.Fatal(err)
			}
			_, err = readAnswer(conn)
			if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Fatal("the refused connection stays open")
			}
		})
	}
}

func TestPeersReportTheReasonToTheDialer(t *testing.T) {
	a, b := newTestPeers(t, "a-1", "c"), newTestPeers(t, "b-2", "d")
	a.book.note("b-2", b.boundAddr(), 1)
	_, err := a.dial(testContext(t), "b-2")
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "belongs to cluster d, not to c") {
		t.Fatalf("got %v", err)
	}
}

func TestPeersWithoutClusterDoNotDial(t *testing.T) {
	a, b := newTestPeers(t, "a-1", ""), newTestPeers(t, "b-2", "d")
	a.book.note("b-2", b.boundAddr(), 1)
	if _, err := a.dial(testContext(t), "b-2"); err == nil {
		t.Fatal("a node without a cluster reached one with")
	}
}

func TestPeersEndSilentAndForeignConnections(t *testing.T) {
	b := newPatientPeers(t, "b-2", "c", time.Millisecond)
	for name, text := range map[string]string{"silent": "", "half": "SRT", "http": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "endless": strings.Repeat("SRTM\x01\x01\x00\x00\x00\x00\x00\x00\xff\xff", 50)} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", b.boundAddr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(testPatience)); err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(conn)
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("the connection stays open")
			}
		})
	}
}

func TestPeersBoundTheHandshakes(t *testing.T) {
	b := newTestPeers(t, "b-2", "c")
	var silent []net.Conn
	for range handshakesMax + 1 {
		conn, err := net.Dial("tcp", b.boundAddr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	// The last is closed at once, long before the time of the others is up.
	last := silent[handshakesMax]
	if err := last.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := last.Read(make([]byte, 1))
	if timeout := net.Error(nil); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatalf("one handshake too many is waited for: %v", err)
	}
}

func TestAddressBookSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), storage.AddressesName)
	book := openAddressBook(path, testLogger(t, 0))
	book.note("b-2", "10.0.0.2:9326", 3)
	if err := storage.WriteRecord(path, book.entries); err != nil {
		t.Fatal(err)
	}
	if got := openAddressBook(path, testLogger(t, 0)).lookup("b-2"); got != "10.0.0.2:9326" {
		t.Fatalf("got %q", got)
	}
	clustertest.FlipBit(t, path, 10)
	if got := openAddressBook(path, testLogger(t, 0)).lookup("b-2"); got != "" {
		t.Fatalf("a damaged book says %q", got)
	}
}
