package network

import (
	"net/netip"
	"sync"
)

// Ports are those of the nodes, by which traffic is classified.
type Ports struct{ API, Admin, Peer, Gossip uint16 }

// The first bytes of a connection between nodes tell its purpose: these four bytes, a version, and
// the kind. See the handshake of package cluster.
const (
	handshake     = "SRTM"
	handshakeKind = 5
)

// kinds maps the connections that do not belong to the class Peer: those of the consensus, with its
// questions and snapshots, and forwarded requests (docs/internals/peer-protocol.md).
var kinds = map[byte]Class{3: Raft, 4: Raft, 5: Raft, 6: Raft, 7: Forward}

// flow is a TCP connection from the end that dialed.
type flow struct{ from, to netip.AddrPort }

// flowsMax bounds the known flows. It is far more than a run opens.
const flowsMax = 1 << 16

// classifier determines the class of a packet. Safe for concurrent use.
type classifier struct {
	ports Ports
	mu    sync.RWMutex
	known map[flow]Class // connections between nodes whose handshake was seen
}

func newClassifier(ports Ports) *classifier {
	return &classifier{ports: ports, known: map[flow]Class{}}
}

func (c *classifier) class(p packet) Class {
	switch {
	case p.segment == 0:
		return Other
	case p.to.Port() == c.ports.Peer && p.protocol == protoTCP:
		return c.peer(p, flow{p.from, p.to}, true)
	case p.from.Port() == c.ports.Peer && p.protocol == protoTCP:
		return c.peer(p, flow{p.to, p.from}, false)
	}
	return max(c.ports.class(p.to.Port()), c.ports.class(p.from.Port()))
}

// class returns the class of a port. Peer is the class of a connection whose handshake was not
// seen.
func (p Ports) class(port uint16) Class {
	switch port {
	case p.API:
		return API
	case p.Admin:
		return Admin
	case p.Peer:
		return Peer
	case p.Gossip:
		return Gossip
	default:
		return Other
	}
}

// handshakeClass returns the class of a connection between nodes that begins with this text.
func handshakeClass(text []byte) (class Class, shaken bool) {
	if len(text) <= handshakeKind || string(text[:len(handshake)]) != handshake {
		return Peer, false
	}
	if class, known := kinds[text[handshakeKind]]; known {
		return class, true
	}
	return Peer, true
}

func (c *classifier) peer(p packet, f flow, dialed bool) Class {
	if class, shaken := handshakeClass(p.text()); dialed && shaken {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.known) >= flowsMax {
			clear(c.known)
		}
		c.known[f] = class
		return class
	}
	if dialed && p.flags()&tcpSYN != 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.known, f) // a new connection with the same ports
		return Peer
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if class, known := c.known[f]; known {
		return class
	}
	return Peer
}
