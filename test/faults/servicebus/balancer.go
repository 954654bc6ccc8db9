package servicebus

import (
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

// balancer is one address before several nodes: connection strings name one host. It passes each
// connection to a node that listens.
type balancer struct {
	listener net.Listener
	nodes    []string
	wait     sync.WaitGroup
}

// newBalancer listens, with TLS if there is a configuration.
func newBalancer(nodes []string, secure *tls.Config) (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	b := &balancer{listener: listener, nodes: nodes}
	b.wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			b.wait.Go(func() { b.serve(client) })
		}
	})
	return b, nil
}

func (b *balancer) address() string { return b.listener.Addr().String() }

// close ends when all connections have ended.
func (b *balancer) close() error {
	err := b.listener.Close()
	b.wait.Wait()
	return err
}

func (b *balancer) serve(client net.Conn) {
	defer client.Close()
	for _, i := range rand.Perm(len(b.nodes)) {
		node, err := net.Dial("tcp", b.nodes[i])
		if err != nil {
			continue // it is down
		}
		defer node.Close()
		ended := make(chan error, 2) // the results
		go func() { ended <- forward(node, client) }()
		go func() { ended <- forward(client, node) }()
		<-ended
		_, _ = node.Close(), client.Close() // ends the other direction, too
		<-ended
		return
	}
}

func forward(to, from net.Conn) error {
	_, err := io.Copy(to, from)
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
