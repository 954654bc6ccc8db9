package election

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
)

// testNode is a failure detector on a real network, with a consensus library that the test
// simulates.
type testNode struct {
	*FailureDetector
	id       string
	leads    bool
	leader   string            // empty: none is known
	term     uint64            // default 5
	last     LogPosition       // default term 5, index 9
	silent   time.Duration     // time since contact with the leader
	heard    []string          // contacts, as leader
	unfit    bool              // no other node may lead
	loses    bool              // its elections fail, and no leader is known afterwards
	line     line              // quality of the link to it
	uncalled []string          // nodes that answer none of its calls
	clock    environment.Clock // default that of the machine

	campaigns chan struct{}
	transfers chan string           // successors of handovers
	refuses   func(id string) error // makes a node fail to take over; nil: none fails
}

// testSilence is the silence after which the leader of these nodes is missing.
const testSilence = time.Hour

// open starts a node that answers the others' questions.
func (n *testNode) open(t *testing.T, voters []string) *peernet.AddressBook {
	t.Helper()
	network, book := peernettest.Open(t, n.id, nil)
	if n.term == 0 {
		n.term = 5
	}
	if n.last == (LogPosition{}) {
		n.last = LogPosition{Term: 5, Index: 9}
	}
	if n.clock == nil {
		n.clock = environment.SystemClock()
	}
	n.campaigns, n.transfers = make(chan struct{}, 10), make(chan string, 10)
	n.FailureDetector = New(Options{
		NodeID: n.id, Network: network, Heartbeat: 2 * testSilence, Clock: n.clock, Log: clustertest.Logger(t, 0),
		Call: func(_ context.Context, nodeID string) error {
			if slices.Contains(n.uncalled, nodeID) {
				return errors.New("no answer")
			}
			return nil
		},
	})
	n.Start(Consensus{
		Leadership:   func() Leadership { return Leadership{Term: n.term, LeaderID: n.leader, Self: n.leads} },
		LastEntry:    func() LogPosition { return n.last },
		SinceContact: func() time.Duration { return n.silent },
		Voters:       func() []string { return voters },
		HeardVoters:  func() []string { return n.heard },
		Campaign: func() error {
			if n.loses {
				n.leader = ""
			}
			n.campaigns <- struct{}{}
			return nil
		},
		MayLead: func(string) bool { return !n.unfit },
		Transfer: func(_ context.Context, nodeID string) error {
			n.transfers <- nodeID
			if n.refuses != nil {
				return n.refuses(nodeID)
			}
			return nil
		},
	})
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	served := make(chan struct{})
	go func() {
		defer close(served)
		n.Serve(ctx, &badLine{Listener: network.Listener(peernet.KindFailureDetector, 0), line: n.line})
	}()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	return book
}

// line is the quality of the link to a node.
type line int

const (
	soundLine line = iota
	lossyLine      // every third connection fails
	slowLine       // only the first 4 KiB of each connection arrive in time
)

// badLine is a listener behind such a link.
type badLine struct {
	net.Listener
	line    line
	arrived int
}

func (l *badLine) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		l.arrived++
		switch {
		case err == nil && l.line == lossyLine && l.arrived%3 == 0:
			conn.Close()
		case err == nil && l.line == slowLine:
			return &slowConn{Conn: conn, left: 4 << 10, closed: make(chan struct{})}, nil
		default:
			return conn, err
		}
	}
}

// slowConn delivers left bytes and no more.
type slowConn struct {
	net.Conn
	left   int
	close  sync.Once
	closed chan struct{}
}

func (c *slowConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		<-c.closed
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func (c *slowConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// openAll starts nodes that know each other's addresses, and returns their address books.
func openAll(t *testing.T, voters []string, nodes ...*testNode) (books []*peernet.AddressBook) {
	t.Helper()
	for _, n := range nodes {
		books = append(books, n.open(t, voters))
	}
	for _, book := range books {
		for _, n := range nodes {
			book.Note(n.id, n.options.Network.BoundAddr(), 1)
		}
	}
	return books
}
