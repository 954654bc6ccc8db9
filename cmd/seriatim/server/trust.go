package server

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/nodecert"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/owntoken"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/files"
	"github.com/seriatimq/seriatim/transport/ops"
)

// certificates holds the certificates of the ports with TLS; the others are nil.
type certificates struct{ client, admin, peer *files.Certificate }

func openCertificates(listen ListenConfig, log *slog.Logger) (c certificates, err error) {
	var problems []error
	for _, port := range []struct {
		settings string
		names    files.CertificateNames
		files    **files.Certificate
	}{
		{"tls-cert, tls-key", files.CertificateNames{Chain: listen.TLSCert, Key: listen.TLSKey}, &c.client},
		{"admin-cert, admin-key", files.CertificateNames{Chain: listen.AdminCert, Key: listen.AdminKey}, &c.admin},
		{"peer-cert, peer-key, peer-ca", files.CertificateNames{Chain: listen.PeerCert, Key: listen.PeerKey, Authorities: listen.PeerCA},
			&c.peer},
	} {
		if port.names.Chain == "" {
			continue
		}
		if *port.files, err = files.OpenCertificate(port.names, time.Now, log); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", port.settings, err))
		}
	}
	return c, errors.Join(problems...)
}

// expiries returns the ends of the certificates in force, by port.
func (c certificates) expiries() map[string]time.Time {
	ends := map[string]time.Time{}
	for port, files := range map[string]*files.Certificate{"client": c.client, "admin": c.admin, "peer": c.peer} {
		if files != nil {
			ends[port] = files.Expires()
		}
	}
	return ends
}

// trust returns the certificates and the gossip key that authenticate nodes.
func (c certificates) trust(cfg Config) (t cluster.Trust, err error) {
	if cfg.alone() {
		return aloneTrust()
	}
	if c.peer != nil {
		t.Peers = &cluster.PeerTLS{Server: c.peer.Server(), Client: c.peer.Client()}
	}
	t.GossipKey, err = gossipKey(cfg.Node.GossipKeyFile)
	return t, err
}

// alone reports whether the node forms a cluster alone, without certificate and gossip key. Its
// peer and gossip ports then accept no other node.
func (c Config) alone() bool {
	return !c.Listen.InsecurePeers && c.Node.BootstrapExpect == 1 && len(c.Node.Join) == 0 && c.Listen.PeerCert == "" &&
		c.Node.GossipKeyFile == ""
}

// gossipKeyBytes is the size of the random key of a node alone.
const gossipKeyBytes = 32

// aloneTrust returns a random key and certificate, so that no other program can connect.
func aloneTrust() (t cluster.Trust, err error) {
	t.GossipKey = make([]byte, gossipKeyBytes)
	if _, err := rand.Read(t.GossipKey); err != nil {
		return t, err
	}
	server, client, err := files.AloneCertificate(time.Now())
	t.Peers = &cluster.PeerTLS{Server: server, Client: client}
	return t, err
}

// checkPeerCertificate refuses a certificate that other nodes refuse.
func (p program) checkPeerCertificate(c certificates, node string) error {
	if c.peer == nil || nodecert.Names(c.peer.Leaf(), node) {
		return nil
	}
	return exit.New(exit.Usage, fmt.Errorf("peer-cert is not the certificate of node %s: it lacks the name %s", node, nodecert.Mark(node)),
		"make one with seriatim cert issue "+node)
}

// openTokens returns the function that finds the operator of a token, nil without a token file.
func openTokens(listen ListenConfig, log *slog.Logger) (func(token string) (ops.Operator, bool), error) {
	if listen.AdminTokens == "" {
		return nil, nil
	}
	file, err := files.OpenTokens(listen.AdminTokens, time.Now, log)
	if err != nil {
		return nil, fmt.Errorf("admin-tokens-file: %w", err)
	}
	return file.Find, nil
}

// ownToken protects the admin port of a node without a token file: callers need the token in the
// data directory.
func (p program) ownToken(cfg Config, r *parts) error {
	if r.operators != nil {
		return nil
	}
	if cfg.Listen.InsecureAdmin {
		p.log.Warn("insecure-admin is set: the admin port needs no token, so every program that reaches it can read messages and " +
			"change the cluster")
		return nil
	}
	own, err := owntoken.Open(cfg.Node.DataDir, rand.Reader)
	if err != nil {
		return err
	}
	r.ownToken = own.File
	r.operators = func(token string) (ops.Operator, bool) {
		return ops.Operator{Name: "the node's own token", Role: ops.Administrator}, own.Is(token)
	}
	p.log.Info("the admin port needs the token in this file; on this machine, the command line finds a readable file by itself",
		"file", own.File)
	return nil
}

// gossipKey reads the gossip key, nil without a file.
func gossipKey(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("gossip-key-file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("gossip-key-file %s: not base64: %w", path, err)
	}
	return key, nil
}

// adminURL returns the URL of the admin port for other machines. For a port on all addresses the
// host is empty, and the other nodes insert the node's address.
func adminURL(listen string, secure bool) string { return portURL(listen, secure, "") }

// portURL returns the URL of a port. everywhere is the host of a port on all addresses.
func portURL(listen string, secure bool, everywhere string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = everywhere
	}
	return map[bool]string{false: "http", true: "https"}[secure] + "://" + net.JoinHostPort(host, port)
}

// clientURL returns the URL of the client port for snippets. A port on all addresses is called by
// the name of this machine.
func clientURL(listen string, secure bool) string {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return portURL(listen, secure, name)
}
