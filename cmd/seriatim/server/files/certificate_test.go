package files

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folder holds the files of one port.
type folder struct {
	t   *testing.T
	dir string
}

func (f folder) names() CertificateNames {
	return CertificateNames{Chain: f.path("node.crt"), Key: f.path("node.key"), Authorities: f.path("ca.crt")}
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

// write replaces the files with a certificate of a new authority, with a serial number.
func (f folder) write(serial int64) {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"node"},
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.t.Fatal(err)
	}
	f.replace("node.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	f.replace("node.crt", chain)
	f.replace("ca.crt", chain)
}

// replace moves a new file over the old one, as tools that renew certificates do.
func (f folder) replace(name string, content []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name+".new"), content, 0o600); err != nil {
		f.t.Fatal(err)
	}
	// With coarse file times, both files could have the same time.
	changed := time.Now().Add(time.Duration(len(content)) * time.Second)
	if err := os.Chtimes(f.path(name+".new"), changed, changed); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.path(name+".new"), f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

// handshake connects two ends and returns the serial number of the peer's certificate at each.
func handshake(t *testing.T, server, client *Certificate) (byServer, byClient int64, err error) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server.Server())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	shown := make(chan int64, 1) // the serial number that the client presented, 0 if the server refused it
	go func() {
		defer close(shown)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("x")); err == nil {
			shown <- conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		}
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), client.Client())
	if err == nil {
		defer conn.Close()
		if _, err = io.ReadFull(conn, make([]byte, 1)); err == nil {
			byServer = conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		}
	}
	return byServer, <-shown, err
}

func TestReplacedCertificates(t *testing.T) {
	f, now, log := folder{t, t.TempDir()}, time.Now(), new(strings.Builder)
	f.write(1)
	files, err := OpenCertificate(f.names(), func() time.Time { return now }, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := func(serial int64) {
		t.Helper()
		if a, b, err := handshake(t, files, files); err != nil || a != serial || b != serial {
			t.Errorf("shown were %d and %d, %v, want %d", a, b, err, serial)
		}
	}
	want(1)
	f.write(2)
	want(1) // no handshake has read the files yet
	now = now.Add(CheckInterval)
	want(2)
	f.replace("node.crt", []byte("nothing"))
	now = now.Add(CheckInterval)
	want(2)
	if got := strings.Count(log.String(), "level=ERROR"); got != 1 {
		t.Errorf("%d errors in the log\n%s", got, log)
	}
	f.write(3)
	now = now.Add(CheckInterval)
	want(3)
	if left := files.Expires().Sub(now); left <= 0 || left > time.Hour {
		t.Errorf("it ends in %v", left)
	}
}

func TestAnotherAuthority(t *testing.T) {
	ends := make([]*Certificate, 2)
	for i := range ends {
		f := folder{t, t.TempDir()}
		f.write(int64(i))
		var err error
		if ends[i], err = OpenCertificate(f.names(), time.Now, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := handshake(t, ends[0], ends[1]); err == nil {
		t.Error("the two believe each other")
	}
}

func TestUnusableCertificates(t *testing.T) {
	f := folder{t, t.TempDir()}
	f.write(1)
	f.replace("empty.pem", nil)
	for _, names := range []CertificateNames{
		{Chain: f.path("none"), Key: f.path("node.key")},
		{Chain: f.path("node.crt"), Key: f.path("node.crt")},
		{Chain: f.path("node.crt"), Key: f.path("node.key"), Authorities: f.path("none")},
		{Chain: f.path("node.crt"), Key: f.path("node.key"), Authorities: f.path("empty.pem")},
	} {
		if _, err := OpenCertificate(names, time.Now, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%+v can be used", names)
		}
	}
}
