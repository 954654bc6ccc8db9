package server

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/certificate"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/token"
	"github.com/seriatimq/seriatim/transport/ops"
)

// certificates are those of the ports that have TLS, nil for the others.
type certificates struct{ client, admin, peer *certificate.Files }

// openCertificates reads the certificates that the settings name.
func openCertificates(listen ListenConfig, log *slog.Logger) (c certificates, err error) {
	var problems []error
	for _, port := range []struct {
		settings string
		names    certificate.Names
		files    **certificate.Files
	}{
		{"tls-cert, tls-key", certificate.Names{Chain: listen.TLSCert, Key: listen.TLSKey}, &c.client},
		{"admin-cert, admin-key", certificate.Names{Chain: listen.AdminCert, Key: listen.AdminKey}, &c.admin},
		{"peer-cert, peer-key, peer-ca", certificate.Names{Chain: listen.PeerCert, Key: listen.PeerKey, Authorities: listen.PeerCA}, &c.peer},
	} {
		if port.names.Chain == "" {
			continue
		}
		if *port.files, err = certificate.Open(port.names, time.Now, log); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", port.settings, err))
		}
	}
	return c, errors.Join(problems...)
}

// expiries is when the certificates in force end, by port.
func (c certificates) expiries() map[string]time.Time {
	ends := map[string]time.Time{}
	for port, files := range map[string]*certificate.Files{"client": c.client, "admin": c.admin, "peer": c.peer} {
		if files != nil {
			ends[port] = files.Expires()
		}
	}
	return ends
}

// trust is what the nodes know each other by.
func (c certificates) trust(gossipKeyFile string) (t cluster.Trust, err error) {
	if c.peer != nil {
		t.Peers = &cluster.PeerTLS{Server: c.peer.Server(), Client: c.peer.Client()}
	}
	t.GossipKey, err = gossipKey(gossipKeyFile)
	return t, err
}

// openTokens reads who may call the admin port; nil: everybody.
func openTokens(listen ListenConfig, log *slog.Logger) (func(token string) (ops.Operator, bool), error) {
	if listen.AdminTokens == "" {
		return nil, nil
	}
	file, err := token.Open(listen.AdminTokens, time.Now, log)
	if err != nil {
		return nil, fmt.Errorf("admin-tokens-file: %w", err)
	}
	return file.Find, nil
}

// gossipKey reads the key that all nodes share.
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
