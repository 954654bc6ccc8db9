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

// TLS proves the identity of the two ends of a connection: each shows a certificate of an
// authority that the other trusts, with the mark of its node.
type TLS struct {
	Server *tls.Config // wants a certificate of the other end
	Client *tls.Config
}

// accepted returns an accepted connection, encrypted if the network is. Nothing is read yet: the
// handshakes of TLS and of this package have one time limit.
func (p *Network) accepted(socket net.Conn) net.Conn {
	if p.options.TLS == nil {
		return socket
	}
	return tls.Server(socket, p.options.TLS.Server)
}

// dialed returns a connection that this node has opened, encrypted if the network is.
func (p *Network) dialed(socket net.Conn) net.Conn {
	if p.options.TLS == nil {
		return socket
	}
	return tls.Client(socket, p.options.TLS.Client)
}

// authenticate checks the certificate of a node that was dialed, before this node says
// anything.
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

// errCertificate is the error of a certificate that does not make its holder the node that
// it says it is.
var errCertificate = errors.New("its certificate is not that of this node")

// checkCertificate compares the certificate of the other end with the node that it says it
// is.
func (p *Network) checkCertificate(conn *peerConn, nodeID string) error {
	shown := conn.certificate()
	switch name := storage.NodeNameOf(nodeID); {
	case shown == nil || nodecert.Names(shown, name):
		return nil
	case nodecert.Marked(shown):
		return fmt.Errorf("%w: it lacks the name %s", errCertificate, nodecert.Mark(name))
	default:
		return fmt.Errorf("%w: it lacks the name %s, as a certificate for the client port does; renew it with seriatim cert renew %s --role node",
			errCertificate, nodecert.Mark(name), name)
	}
}

// certificate holds the certificate of the other end, nil on a connection without TLS.
func (c *peerConn) certificate() *x509.Certificate {
	secured, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	shown := secured.ConnectionState().PeerCertificates
	if len(shown) == 0 {
		return new(x509.Certificate) // the configurations of TLS do not let it come to this
	}
	return shown[0]
}
