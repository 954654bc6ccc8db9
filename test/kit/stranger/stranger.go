// Package stranger holds connections of an unauthenticated caller. It knows no protocol, and a
// refusal is no error.
package stranger

import (
	"net"
	"sync"
	"time"
)

// patience bounds what a stranger waits for. It is longer than any server waits for him.
const patience = 90 * time.Second

// Stranger is somebody with an address of his own, and the connections he holds open. Safe
// for concurrent use.
type Stranger struct {
	from net.IP
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// New is a stranger at 127.0.0.host.
func New(host byte) *Stranger {
	return &Stranger{from: net.IPv4(127, 0, 0, host), open: make(map[net.Conn]struct{})}
}

// Dial connects and says something; the connection stays until it is left or all are hung
// up. It is nil if nobody took it.
func (s *Stranger) Dial(address, first string) net.Conn {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: s.from}, Timeout: patience}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return nil
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		conn.Close()
		return nil
	}
	s.mu.Lock()
	s.open[conn] = struct{}{}
	s.mu.Unlock()
	_, _ = conn.Write([]byte(first))
	return conn
}

// Hold opens so many connections that say this and nothing more.
func (s *Stranger) Hold(address string, count int, first string) {
	for range count {
		s.Dial(address, first)
	}
}

// Packets is a socket that sends packets to a UDP address.
func (s *Stranger) Packets(address string) (*net.UDPConn, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	return net.DialUDP("udp", &net.UDPAddr{IP: s.from}, to)
}

// HangUp closes all connections.
func (s *Stranger) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		conn.Close()
	}
	clear(s.open)
}
