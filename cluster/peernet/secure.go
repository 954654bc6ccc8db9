package peernet

import (
	"crypto/tls"
	"net"
)

// TLS is how the two ends of a connection know that both belong to the cluster: each
// shows a certificate of an authority that the other trusts.
type TLS struct {
	Server *tls.Config // wants a certificate of who calls
	Client *tls.Config
}

// accepted is what arrived, encrypted if the network is. Nothing is read yet: the
// handshakes, of TLS and of peernet, have one time limit.
func (p *Network) accepted(socket net.Conn) net.Conn {
	if p.options.TLS == nil {
		return socket
	}
	return tls.Server(socket, p.options.TLS.Server)
}

// dialed is what this node has opened, encrypted if the network is.
func (p *Network) dialed(socket net.Conn) net.Conn {
	if p.options.TLS == nil {
		return socket
	}
	return tls.Client(socket, p.options.TLS.Client)
}
