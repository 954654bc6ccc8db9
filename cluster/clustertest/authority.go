package clustertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"testing"
	"time"
)

// Authority issues the certificates of the nodes of one cluster.
type Authority struct {
	random      io.Reader
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns a new authority with keys from random.
func NewAuthority(t *testing.T, random io.Reader) *Authority {
	t.Helper()
	a := &Authority{random: random}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate, a.key = a.issue(t, template)
	return a
}

// certificatesEnd is in the year 2286, in seconds since 1970.
const certificatesEnd = 9_999_999_999

func (a *Authority) issue(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), a.random)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Unix(0, 0), time.Unix(certificatesEnd, 0)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	raw, err := x509.CreateCertificate(a.random, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// Node returns TLS configurations for a node of this authority's cluster. Without marks, its
// certificate fits any node.
func (a *Authority) Node(t *testing.T, marks ...string) (server, client *tls.Config) {
	t.Helper()
	if marks == nil {
		marks = []string{"*.node.seriatim"}
	}
	leaf, key := a.issue(t, &x509.Certificate{
		DNSNames:    append([]string{"node"}, marks...),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	trusted := x509.NewCertPool()
	trusted.AddCert(a.certificate)
	own := []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}}
	show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own[0], nil }
	return &tls.Config{Certificates: own, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS13},
		&tls.Config{GetClientCertificate: show, RootCAs: trusted, ServerName: "node", MinVersion: tls.VersionTLS13}
}
