package files

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// CertificateNames names the PEM files of one port.
type CertificateNames struct {
	Chain string // the certificate and the intermediate ones up to an authority
	Key   string // its private key
	// Authorities issue the certificates of the other end; empty: it needs no certificate.
	Authorities string
}

// Certificate holds the certificates of a port and reloads changed files. Safe for concurrent use.
type Certificate struct {
	names   CertificateNames
	now     func() time.Time
	current *Watched[*certificateContents]
}

// certificateContents holds the parsed files.
type certificateContents struct {
	own         *tls.Certificate
	authorities *x509.CertPool
}

// OpenCertificate reads the files. An error names the unusable file.
func OpenCertificate(names CertificateNames, now func() time.Time, log *slog.Logger) (f *Certificate, err error) {
	f = &Certificate{names: names, now: now}
	files := []string{names.Chain, names.Key}
	if names.Authorities != "" {
		files = append(files, names.Authorities)
	}
	f.current, err = Watch(files, names.read, now, log)
	return f, err
}

func (n CertificateNames) read() (*certificateContents, error) {
	pair, err := tls.LoadX509KeyPair(n.Chain, n.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", n.Chain, n.Key, err)
	}
	c := &certificateContents{own: &pair}
	if n.Authorities == "" {
		return c, nil
	}
	text, err := os.ReadFile(n.Authorities)
	if err != nil {
		return nil, fmt.Errorf("certificates of authorities: %w", err)
	}
	c.authorities = x509.NewCertPool()
	if !c.authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("certificates of authorities: there is none in %s", n.Authorities)
	}
	return c, nil
}

// Expires returns the end of the certificate in force.
func (f *Certificate) Expires() time.Time { return f.current.Current().own.Leaf.NotAfter }

// Leaf returns the certificate in force.
func (f *Certificate) Leaf() *x509.Certificate { return f.current.Current().own.Leaf }

// Server returns the configuration of a listener, nil without files. With authorities every
// client must present a certificate of one of them.
func (f *Certificate) Server() *tls.Config {
	if f == nil {
		return nil
	}
	base := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.names.Authorities == "" {
		base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.current.Current().own, nil }
		return base
	}
	base.MinVersion = tls.VersionTLS13
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := f.current.Current()
		return &tls.Config{
			MinVersion:             tls.VersionTLS13,
			SessionTicketsDisabled: true, // each connection presents its certificate
			Certificates:           []tls.Certificate{*c.own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.authorities,
		}, nil
	}
	return base
}

var errNoCertificate = errors.New("the other end has presented no certificate")

// Client returns the configuration of a caller of such a listener. It verifies the authority of
// the other end, but not the address, which may change. Package peernet checks the node.
func (f *Certificate) Client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return f.current.Current().own, nil
		},
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, without the name
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errNoCertificate
			}
			between := x509.NewCertPool()
			for _, c := range state.PeerCertificates[1:] {
				between.AddCert(c)
			}
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
				Roots: f.current.Current().authorities, Intermediates: between, CurrentTime: f.now(),
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			})
			return err
		},
	}
}
