package peernet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/seriatimq/seriatim/cluster/nodecert"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// TLS authenticates both ends of a connection: each presents a certificate of an authority that the
// other trusts, with the mark of its node.
type TLS struct {
	Server *tls.Config // requires a certificate of the other end
	Client *tls.Config
}

// accepted returns an accepted connection, encrypted if TLS is configured. It reads nothing: the
// TLS handshake and that of this package share one time limit.
func (p *Network) accepted(socket net.Conn) net.Conn {
	if p.options.TLS == nil {
		return socket
	}
	return tls.Server(socket, p.options.TLS.Server)
}

// dialed returns a connection that this node has opened, encrypted if TLS is configured.
func (p *Network) dialed(socket net.Conn) net.Conn {
	if p.options.TLS == nil {
		return socket
	}
	return tls.Client(socket, p.options.TLS.Client)
}

// authenticate checks the certificate of a dialed node before this node sends anything.
func (p *Network) authenticate(ctx context.Context, conn *peerConn, nodeID string) error {
	secured, ok := conn.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	return p.checkCertificate(conn, nodeID)
}

// errCertificate reports a certificate without the mark of the node that presents it.
var errCertificate = errors.New("its certificate is not that of this node")

// checkCertificate compares the certificate of the other end with its node id.
func (p *Network) checkCertificate(conn *peerConn, nodeID string) error {
	shown, name := conn.certificate(), storage.NodeNameOf(nodeID)
	if shown == nil || nodecert.Names(shown, name) {
		return nil
	}
	return fmt.Errorf("%w: it lacks the name %s", errCertificate, nodecert.Mark(name))
}

// certificate returns the certificate of the other end, nil without TLS.
func (c *peerConn) certificate() *x509.Certificate {
	secured, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	shown := secured.ConnectionState().PeerCertificates
	if len(shown) == 0 {
		return new(x509.Certificate) // unreachable with these TLS configurations
	}
	return shown[0]
}
