package files

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"time"

	"github.com/seriatimq/seriatim/cluster/nodecert"
)

// AloneCertificate returns the TLS configurations of a node that forms a cluster alone. It draws a
// self-signed certificate at each start, so that no other program can connect.
func AloneCertificate(now time.Time) (server, client *tls.Config, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	const years = 100
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(years, 0, 0),
		DNSNames: []string{nodecert.Mark(nodecert.AnyNode)},
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, nil, err
	}
	own, itself := tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}, x509.NewCertPool()
	itself.AddCert(leaf)
	server = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: itself}
	client = &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: itself, ServerName: "alone" + nodecert.Mark(""),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil },
	}
	return server, client, nil
}
