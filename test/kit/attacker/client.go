// Package attacker opens connections without credentials. It speaks no protocol and ignores
// refusals.
package attacker

import (
	"net"
	"sync"
	"time"
)

// idleTimeout is longer than any server waits for a client.
const idleTimeout = 90 * time.Second

// Client is an unauthenticated client with its own source address, and its open connections.
// Safe for concurrent use.
type Client struct {
	from net.IP
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// New returns a client at 127.0.0.host.
func New(host byte) *Client {
	return &Client{from: net.IPv4(127, 0, 0, host), open: make(map[net.Conn]struct{})}
}

// Dial connects and sends first. The connection stays open until idleTimeout or HangUp. Dial
// returns nil if no server accepts the connection.
func (c *Client) Dial(address, first string) net.Conn {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: c.from}, Timeout: idleTimeout}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return nil
	}
	if err := conn.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		conn.Close()
		return nil
	}
	c.mu.Lock()
	c.open[conn] = struct{}{}
	c.mu.Unlock()
	_, _ = conn.Write([]byte(first))
	return conn
}

// Hold opens count connections that send first and nothing more.
func (c *Client) Hold(address string, count int, first string) {
	for range count {
		c.Dial(address, first)
	}
}

// Packets opens a socket that sends packets to a UDP address.
func (c *Client) Packets(address string) (*net.UDPConn, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	return net.DialUDP("udp", &net.UDPAddr{IP: c.from}, to)
}

// HangUp closes all connections.
func (c *Client) HangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		conn.Close()
	}
	clear(c.open)
}
