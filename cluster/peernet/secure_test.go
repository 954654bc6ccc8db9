package peernet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate, a.key = a.issue(t, template)
	return a
}

func (a *authority) issue(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// node is how a node of this authority's cluster shakes hands.
func (a *authority) node(t *testing.T) *TLS {
	t.Helper()
	leaf, key := a.issue(t, &x509.Certificate{
		DNSNames: []string{"node"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	trusted := x509.NewCertPool()
	trusted.AddCert(a.certificate)
	own := []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}}
	return &TLS{
		Server: &tls.Config{Certificates: own, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS13},
		Client: &tls.Config{Certificates: own, RootCAs: trusted, ServerName: "node", MinVersion: tls.VersionTLS13},
	}
}

func secureNetwork(t *testing.T, nodeID string, secure *TLS) *Network {
	t.Helper()
	return newTestNetwork(t, nodeID, "c", func(o *Options) { o.TLS = secure })
}

func TestNodesOfOneAuthority(t *testing.T) {
	clustertest.VerifyNoLeaks(t)
	own := newAuthority(t)
	a, b := secureNetwork(t, "a-1", own.node(t)), secureNetwork(t, "b-2", own.node(t))
	lost := make(chan string, 1)
	a.WhenLost(func(nodeID string) { lost <- nodeID })
	a.book.Note("b-2", b.BoundAddr(), 1)
	conn, err := a.Dial(clustertest.Context(t), "b-2", KindRaft, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	accepted, err := b.Listener(KindRaft, 0).Accept()
	if err != nil {
		t.Fatal(err)
	}
	go conn.Write([]byte("hello")) // what arrives tells
	got := make([]byte, 5)
	if _, err := io.ReadFull(accepted, got); err != nil || string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	// A process that is killed says no farewell; its silence has to be noticed.
	if err := accepted.Close(); err != nil {
		t.Error(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection was read")
	}
	select {
	case node := <-lost:
		if node != "b-2" {
			t.Errorf("told of %q", node)
		}
	case <-time.After(clustertest.Patience):
		t.Error("not told of the loss")
	}
}

// Who has no certificate of the cluster's authority is told nothing, and a node believes
// nobody else.
func TestNodesOfNoAuthority(t *testing.T) {
	own, foreign := newAuthority(t), newAuthority(t)
	b := secureNetwork(t, "b-2", own.node(t))
	mute := own.node(t)
	mute.Client.Certificates = nil
	for _, tc := range []struct {
		name   string
		secure *TLS
	}{{"clear text", nil}, {"another authority", foreign.node(t)}, {"no certificate", mute}} {
		t.Run(tc.name, func(t *testing.T) {
			a := secureNetwork(t, "a-1", tc.secure)
			for _, dial := range []struct{ from, to *Network }{{a, b}, {b, a}} {
				if tc.secure == mute && dial.from == b {
					continue // its server has one
				}
				dial.from.book.Note(dial.to.NodeID(), dial.to.BoundAddr(), 1)
				if conn, err := dial.from.Dial(clustertest.Context(t), dial.to.NodeID(), KindRaft, 0); err == nil {
					conn.Close()
					t.Errorf("%s reaches %s", dial.from.NodeID(), dial.to.NodeID())
				}
			}
		})
	}
	// A stranger who speaks the handshake gets no word of it.
	conn, err := net.Dial("tcp", b.BoundAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := (hello{kind: KindMembership, from: "a-1", to: "b-2"}).write(conn); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(conn); len(answer) > 7 { // an alert of TLS has seven bytes
		t.Errorf("a stranger is told %q", answer)
	}
}
