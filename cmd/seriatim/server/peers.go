package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/certificate"
)

// trust reads what the nodes know each other by.
func (p program) trust(cfg Config) (t cluster.Trust, err error) {
	if t.GossipKey, err = gossipKey(cfg.Node.GossipKeyFile); err != nil {
		return t, err
	}
	t.Peers, err = p.peerTLS(cfg.Listen)
	return t, err
}

// peerTLS reads the certificates of the peer port; nil: it has none.
func (p program) peerTLS(listen ListenConfig) (*cluster.PeerTLS, error) {
	if listen.PeerCert == "" {
		return nil, nil
	}
	files, err := certificate.Open(certificate.Names{Chain: listen.PeerCert, Key: listen.PeerKey, Authorities: listen.PeerCA}, time.Now, p.log)
	if err != nil {
		return nil, fmt.Errorf("peer-cert, peer-key, peer-ca: %w", err)
	}
	return &cluster.PeerTLS{Server: files.Server(), Client: files.Client()}, nil
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
