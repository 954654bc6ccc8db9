package peernet

import (
	"crypto/rand"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// node returns the TLS configuration of a node with a certificate of an authority.
func node(t *testing.T, authority *clustertest.Authority) *TLS {
	t.Helper()
	server, client := authority.Node(t)
	return &TLS{Server: server, Client: client}
}

func secureNetwork(t *testing.T, nodeID string, secure *TLS) *Network {
	t.Helper()
	return newTestNetwork(t, nodeID, "c", func(o *Options) { o.TLS = secure })
}

func TestNodesOfOneAuthority(t *testing.T) {
	clustertest.VerifyNoLeaks(t)
	own := clustertest.NewAuthority(t, rand.Reader)
	a, b := secureNetwork(t, "a-1", node(t, own)), secureNetwork(t, "b-2", node(t, own))
	lost := make(chan string, 1)
	a.WhenLost(func(nodeID string) { lost <- nodeID })
	a.book.Note("b-2", b.BoundAddr(), 1)
	conn, err := a.Dial(clustertest.Context(t), "b-2", KindConsensus, 0)
	clustertest.Must(t, err)
	defer conn.Close()
	accepted, err := b.Listener(KindConsensus, 0).Accept()
	clustertest.Must(t, err)
	go conn.Write([]byte("hello")) // checked at the other end
	got := make([]byte, 5)
	if _, err := io.ReadFull(accepted, got); err != nil || string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	// A killed process sends no alert; the end of the connection must be detected.
	clustertest.Check(t, accepted.Close())
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection was read")
	}
	select {
	case node := <-lost:
		if node != "b-2" {
			t.Errorf("reported %q", node)
		}
	case <-time.After(clustertest.Timeout):
		t.Error("the loss was not reported")
	}
}

// A node without a certificate of the cluster's authority gets no answer and trusts no other.
func TestNodesOfNoAuthority(t *testing.T) {
	own, foreign := clustertest.NewAuthority(t, rand.Reader), clustertest.NewAuthority(t, rand.Reader)
	b := secureNetwork(t, "b-2", node(t, own))
	mute := node(t, own)
	mute.Client.GetClientCertificate = nil
	for _, tc := range []struct {
		name   string
		secure *TLS
	}{{"clear text", nil}, {"another authority", node(t, foreign)}, {"no certificate", mute}} {
		t.Run(tc.name, func(t *testing.T) {
			a := secureNetwork(t, "a-1", tc.secure)
			for _, dial := range []struct{ from, to *Network }{{a, b}, {b, a}} {
				if tc.secure == mute && dial.from == b {
					continue // its server has one
				}
				dial.from.book.Note(dial.to.NodeID(), dial.to.BoundAddr(), 1)
				if conn, err := dial.from.Dial(clustertest.Context(t), dial.to.NodeID(), KindConsensus, 0); err == nil {
					conn.Close()
					t.Errorf("%s reaches %s", dial.from.NodeID(), dial.to.NodeID())
				}
			}
		})
	}
	// An unauthenticated caller of the handshake gets no answer.
	conn, err := net.Dial("tcp", b.BoundAddr())
	clustertest.Must(t, err)
	defer conn.Close()
	clustertest.Must(t, (hello{kind: KindMembership, from: "a-1", to: "b-2"}).write(conn))
	if answer, _ := io.ReadAll(conn); len(answer) > 7 { // a TLS alert has seven bytes
		t.Errorf("an unauthenticated caller got %q", answer)
	}
}

// A certificate of the authority is not enough: at both ends and for all kinds, it must have the
// mark of its node.
func TestCertificatesHaveRoles(t *testing.T) {
	own := clustertest.NewAuthority(t, rand.Reader)
	marked := func(marks ...string) *TLS {
		server, client := own.Node(t, marks...)
		return &TLS{Server: server, Client: client}
	}
	for _, tc := range []struct {
		name    string
		marks   []string
		welcome bool
	}{
		{"of the node", []string{"a.node.seriatim"}, true},
		{"of all nodes", []string{"*.node.seriatim"}, true},
		{"for the client port", []string{"a", "queue.example.org"}, false},
		{"of another node", []string{"b.node.seriatim"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newTestNetwork(t, "a-1", "c", func(o *Options) { o.TLS = marked(tc.marks...) })
			b := newTestNetwork(t, "b-2", "c", func(o *Options) { o.TLS = marked("b.node.seriatim") })
			a.book.Note("b-2", b.BoundAddr(), 1)
			b.book.Note("a-1", a.BoundAddr(), 1)
			for _, kind := range []Kind{KindConsensus, KindMembership, KindBootstrap, KindFailureDetector, KindForward, KindRestore} {
				conn, err := a.Dial(clustertest.Context(t), "b-2", kind, 0)
				if (err == nil) != tc.welcome {
					t.Errorf("%s: the node is accepted: %v", kind, err)
				}
				if err == nil {
					accepted, err := b.Listener(kind, 0).Accept()
					clustertest.Must(t, err)
					defer accepted.Close()
					conn.Close()
				} else if !strings.Contains(err.Error(), errNotHere.Error()) {
					t.Errorf("%s: the refusal says %v", kind, err)
				}
				conn, err = b.Dial(clustertest.Context(t), "a-1", kind, 0)
				if (err == nil) != tc.welcome {
					t.Errorf("%s: the node is believed: %v", kind, err)
				}
				if err == nil {
					conn.Close()
				}
			}
		})
	}
}
