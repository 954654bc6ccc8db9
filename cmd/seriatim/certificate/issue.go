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

	"github.com/seriatimq/seriatim/cluster/nodecert"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Files in the directory of an authority.
const (
	authorityName = "ca"
	chainSuffix   = ".crt"
	keySuffix     = ".key"
)

// Kinds of blocks in PEM files.
const (
	chainBlock = "CERTIFICATE"
	keyBlock   = "PRIVATE KEY"
)

// backdated makes certificates valid on machines with a slow clock.
const backdated = 5 * time.Minute

// pair is a certificate with its private key.
type pair struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// fits reports whether key and certificate belong together. An interrupted replacement of the
// two files can leave two that do not.
func (p *pair) fits() bool {
	public, comparable := p.certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return comparable && public.Equal(p.key.Public())
}

// issue makes a certificate and signs it with the key of the authority, or with its own key if
// authority is nil. If key is nil, issue draws one.
func issue(template *x509.Certificate, key crypto.Signer, authority *pair) (_ *pair, err error) {
	if key == nil {
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, err
		}
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
	}, nil, nil)
}

// Roles of certificates.
const (
	roleNode    = "node"    // for the peer port of a node; it may serve the other ports, too
	roleClients = "clients" // for the client and the admin port of a node
)

var certificateRoles = []string{roleNode, roleClients}

// order describes a certificate to make.
type order struct {
	name  string
	role  string
	hosts []string      // names and addresses
	key   crypto.Signer // nil: draw one
	now   time.Time
	valid time.Duration
}

// newCertificate makes a certificate. Only the certificate of a node has the DNS name of a node and
// may authenticate a TLS client.
func newCertificate(authority *pair, o order) (*pair, error) {
	end := o.now.Add(o.valid)
	if last := authority.certificate.NotAfter; end.After(last) {
		end = last // the authority signs nothing that outlives it
	}
	if !end.After(o.now) {
		return nil, exit.New(exit.Failed, fmt.Errorf("the authority has expired at %s", end.UTC().Format(time.RFC3339)),
			"make another one in another directory, and let all nodes trust its ca.crt before they use its certificates")
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: o.name}, NotBefore: o.now.Add(-backdated), NotAfter: end,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if o.role == roleNode {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
		template.DNSNames = append(template.DNSNames, nodecert.Mark(o.name))
	}
	for _, host := range o.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return issue(template, o.key, authority)
}

// write writes the two files of a pair. They must not exist, because an overwritten key is lost.
func (p *pair) write(dir, name string) error {
	chain, key, err := p.encode()
	if err != nil {
		return err
	}
	keyPath := filepath.Join(dir, name+keySuffix)
	if err := writeNew(keyPath, key, 0o600); err != nil {
		return err
	}
	if err := writeNew(filepath.Join(dir, name+chainSuffix), chain, 0o644); err != nil {
		return errors.Join(err, os.Remove(keyPath)) // it would only block the next attempt
	}
	return nil
}

// encode returns the pair in PEM form.
func (p *pair) encode() (chain, key []byte, err error) {
	raw, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return nil, nil, err
	}
	chain = pem.EncodeToMemory(&pem.Block{Type: chainBlock, Bytes: p.certificate.Raw})
	return chain, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: raw}), nil
}

// writeNew writes a file that must not exist. If it fails, it removes the file.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func readAuthority(dir string) (*pair, error) {
	p, err := readPair(dir, authorityName)
	if err == nil && !p.certificate.IsCA {
		return nil, fmt.Errorf("%s is not an authority", filepath.Join(dir, authorityName+chainSuffix))
	}
	return p, err
}

// readPair reads the two files of a pair.
func readPair(dir, name string) (*pair, error) {
	chainPath, keyPath := filepath.Join(dir, name+chainSuffix), filepath.Join(dir, name+keySuffix)
	chain, err := os.ReadFile(chainPath)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(keyPath)
	if err != nil {
		return nil, err
	}
	p, err := decode(chain, key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", chainPath, keyPath, err)
	}
	return p, nil
}

// decode reads a pair in PEM form.
func decode(chain, key []byte) (*pair, error) {
	certificate, err := parseCertificate(chain)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(key)
	if block == nil || block.Type != keyBlock {
		return nil, errors.New("no PEM block " + keyBlock)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return &pair{certificate, signer}, nil
}

func parseCertificate(chain []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(chain)
	if block == nil || block.Type != chainBlock {
		return nil, errors.New("no PEM block " + chainBlock)
	}
	return x509.ParseCertificate(block.Bytes)
}
