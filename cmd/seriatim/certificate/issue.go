package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files in the directory of an authority.
const (
	authorityName = "ca"
	chainSuffix   = ".crt"
	keySuffix     = ".key"
)

// backdated makes certificates valid on machines whose clock is behind.
const backdated = 5 * time.Minute

// pair is a certificate with its private key.
type pair struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// issue makes a certificate of an authority, or one that signs itself.
func issue(template *x509.Certificate, authority *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if authority == nil {
		authority = &pair{template, key}
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, authority.certificate, key.Public(), authority.key)
	if err != nil {
		return nil, err
	}
	made, err := x509.ParseCertificate(raw)
	return &pair{made, key}, err
}

// newAuthority makes an authority that is valid for some time from now.
func newAuthority(name string, now time.Time, valid time.Duration) (*pair, error) {
	return issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdated), NotAfter: now.Add(valid),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil)
}

// newCertificate makes a certificate for both ends of a connection. Hosts are names and
// addresses.
func newCertificate(authority *pair, name string, hosts []string, now time.Time, valid time.Duration) (*pair, error) {
	end := now.Add(valid)
	if last := authority.certificate.NotAfter; end.After(last) {
		end = last // it would not be believed for longer
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdated), NotAfter: end,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return issue(template, authority)
}

// write writes the two files of a pair, which must not exist: a key that is overwritten
// cannot be got back.
func (p *pair) write(dir, name string) error {
	key, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return err
	}
	if err := writeNew(filepath.Join(dir, name+keySuffix), "PRIVATE KEY", key, 0o600); err != nil {
		return err
	}
	return writeNew(filepath.Join(dir, name+chainSuffix), "CERTIFICATE", p.certificate.Raw, 0o644)
}

func writeNew(path, kind string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(file, &pem.Block{Type: kind, Bytes: content}), file.Sync(), file.Close())
}

// readAuthority reads the authority of a directory.
func readAuthority(dir string) (*pair, error) {
	certificate, err := readBlock(filepath.Join(dir, authorityName+chainSuffix), "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	key, err := readBlock(filepath.Join(dir, authorityName+keySuffix), "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	p := &pair{}
	if p.certificate, err = x509.ParseCertificate(certificate); err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok || !p.certificate.IsCA {
		return nil, fmt.Errorf("%s is not an authority", filepath.Join(dir, authorityName+chainSuffix))
	}
	p.key = signer
	return p, nil
}

func readBlock(path, kind string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s: no PEM block %s", path, kind)
	}
	return block.Bytes, nil
}
