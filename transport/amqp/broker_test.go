package amqp

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"
	"go.uber.org/goleak"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is a handler with queues in memory. The address of a link is the name of a queue.
type broker struct {
	sends    uint32 // credit of clients
	largest  uint64 // message
	verifies bool   // clients have a key

	mu       sync.Mutex
	queues   map[string]*memoryQueue
	requests chan *Request      // for addresses that begin with later
	gone     chan *Request      // abandoned
	conns    chan *Conn         // opened
	ended    chan string        // names of what has ended
	held     chan *Delivery     // messages for addresses that begin with held
	refusals chan string        // reasons
	users    map[string]string  // passwords
	errors   map[string]*Ending // of links, by address

	transactions map[string]*transaction // that are open, by id
	declared     uint64
}

// Ending is the end of a link as its handler saw it.
type Ending struct{ err *wire.Error }

// memoryQueue holds messages and the links that receive from it.
type memoryQueue struct {
	messages [][]byte
	links    []*consumer
	outcomes []wire.State
	tag      uint64
}

func newBroker() *broker {
	return &broker{
		sends: 100, largest: 1 << 20, verifies: true, queues: make(map[string]*memoryQueue),
		requests: make(chan *Request, 10), gone: make(chan *Request, 10), conns: make(chan *Conn, 100), ended: make(chan string, 100_000),
		held: make(chan *Delivery, 10_000), refusals: make(chan string, 100),
		users: map[string]string{"key": "secret"}, errors: make(map[string]*Ending),
		transactions: make(map[string]*transaction),
	}
}

func (b *broker) Authenticate(_ *Conn, mechanism, user, password string) bool {
	return mechanism == "PLAIN" && password != "" && b.users[user] == password
}

func (b *broker) Opened(c *Conn, open *wire.Open) *wire.Error {
	if open.Hostname == "refused" {
		return failure(NotAllowed, "The host is unknown.")
	}
	if b.verifies {
		c.Verified()
	}
	c.Value = open.ContainerID
	b.conns <- c
	return nil
}

func (b *broker) Attach(r *Request) {
	address, _ := r.Source.Address.Text()
	if r.Attach.Role == wire.Sender {
		address, _ = r.Target.Address.Text()
	}
	switch {
	case r.Target.Coordinator:
		r.Receive(&coordinator{broker: b, conn: r.Conn(), open: make(map[string]*transaction)}, b.sends, 1<<10, Answer{})
	case address == "missing":
		r.Refuse(failure("amqp:not-found", "There is no such queue."))
	case bytes.HasPrefix([]byte(address), []byte("later")):
		b.requests <- r
	default:
		b.accept(r, address)
	}
}

func (b *broker) accept(r *Request, address string) (*Receiver, *Sender) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[address]
	if q == nil {
		q = new(memoryQueue)
		b.queues[address] = q
	}
	if r.Attach.Role == wire.Sender {
		p := &producer{broker: b, conn: r.Conn(), queue: q, address: address}
		return r.Receive(p, b.sends, b.largest, Answer{}), nil
	}
	k := &consumer{broker: b, queue: q, address: address, sent: make(map[*Sent]bool)}
	if k.sender = r.Send(k, Answer{}); k.sender == nil {
		return nil, nil
	}
	q.links = append(q.links, k)
	q.pump()
	if k.sender.Draining() {
		k.sender.Drained()
	}
	return nil, k.sender
}

func (b *broker) Abandoned(r *Request)    { b.gone <- r }
func (b *broker) SessionEnded(s *Session) { b.ended <- "session" }
func (b *broker) Ended(c *Conn)           { b.ended <- "connection" }

// await waits for the end of a link, a session or a connection.
func (b *broker) await(t testing.TB, name string) {
	t.Helper()
	for {
		select {
		case got := <-b.ended:
			if got == name {
				return
			}
		case <-time.After(10 * time.Minute):
			t.Fatalf("no end of %s", name)
		}
	}
}

// outcomes returns the outcomes that the clients of a queue have sent.
func (b *broker) outcomes(name string) []wire.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queues[name].outcomes
}

// producer handles a link whose client sends.
type producer struct {
	broker  *broker
	conn    *Conn
	queue   *memoryQueue
	address string
}

func (p *producer) Received(d *Delivery) {
	b := p.broker
	if bytes.HasPrefix([]byte(p.address), []byte("held")) {
		b.held <- d
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.State != nil {
		p.enlist(d)
		return
	}
	p.queue.messages = append(p.queue.messages, bytes.Clone(d.Message))
	d.Settle(wire.State{Code: wire.CodeAccepted})
	p.queue.pump()
}

func (p *producer) Ended(err *wire.Error) { p.broker.noteEnd(p.address, err) }

func (b *broker) noteEnd(address string, err *wire.Error) {
	b.mu.Lock()
	b.errors[address] = &Ending{err: err}
	b.mu.Unlock()
	b.ended <- address
}

// consumer handles a link whose client receives.
type consumer struct {
	broker  *broker
	queue   *memoryQueue
	address string
	sender  *Sender
	sent    map[*Sent]bool // without an outcome
}

func (k *consumer) Flow(s *Sender) {
	k.broker.mu.Lock()
	defer k.broker.mu.Unlock()
	k.sender = s
	k.queue.pump()
	if s.Draining() {
		s.Drained()
	}
}

func (k *consumer) Disposition(d *Sent, state *wire.State, settled bool) {
	k.broker.mu.Lock()
	defer k.broker.mu.Unlock()
	kept := *state
	kept.Annotations, kept.TxnID, kept.Outcome = kept.Annotations.Clone(), bytes.Clone(kept.TxnID), kept.Outcome.Clone()
	if kept.Error != nil {
		kept.Error.Info = kept.Error.Info.Clone()
	}
	delete(k.sent, d)
	k.queue.outcomes = append(k.queue.outcomes, kept)
	if state.Code == wire.CodeReleased {
		k.queue.messages = append([][]byte{d.Value.([]byte)}, k.queue.messages...)
	}
	if !settled {
		d.Settle(*state)
	}
	k.queue.pump()
}

func (k *consumer) Ended(err *wire.Error) {
	k.broker.mu.Lock()
	for i, o := range k.queue.links {
		if o == k {
			k.queue.links = append(k.queue.links[:i], k.queue.links[i+1:]...)
			break
		}
	}
	for d := range k.sent {
		k.queue.messages = append(k.queue.messages, d.Value.([]byte))
	}
	k.queue.pump()
	k.broker.mu.Unlock()
	k.broker.noteEnd(k.address, err)
}

// pump sends messages to the links that take them.
func (q *memoryQueue) pump() {
	for _, k := range q.links {
		for len(q.messages) > 0 {
			q.tag++
			m := Message{Tag: binary.BigEndian.AppendUint64(nil, q.tag), Payload: q.messages[0], Value: q.messages[0]}
			d := k.sender.Send(m)
			if d == nil {
				break
			}
			k.sent[d] = true
			q.messages = q.messages[1:]
		}
	}
}

// served is a server that listens on loopback.
type served struct {
	*Server
	*broker
	address string
}

// serve starts a server that ends with the test.
func serve(t testing.TB, b *broker, bytes *budget.Bytes) *served {
	t.Helper()
	s := serveHandler(t, b, bytes)
	s.broker = b
	return s
}

func serveHandler(t testing.TB, h Handler, bytes *budget.Bytes) *served {
	t.Helper()
	accepts, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	listener := limits.NewListener(accepts, limits.Config{ConnectionsMax: 1000, Logger: quiet, Now: time.Now})
	s := &served{Server: newServer(h, bytes), address: listener.Addr().String()}
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			s.Serve(accepted)
		}
	}()
	t.Cleanup(func() {
		clustertest.Must(t, listener.Close())
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		clustertest.Check(t, s.Shutdown(ctx))
		<-s.open.Ended()
		if used := bytes.Usage().Used; used != 0 {
			t.Errorf("%d bytes of the budget are used at the end", used)
		}
		if n := s.Panics(); n > 0 {
			t.Errorf("%d panics", n)
		}
	})
	return s
}

var quiet = slog.New(slog.DiscardHandler)

func newServer(h Handler, bytes *budget.Bytes) *Server {
	cfg := Config{
		Handler: h, ContainerID: "node", Budget: bytes, Now: time.Now, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if b, ok := h.(*broker); ok {
		cfg.Refused = func(why string, _ net.Addr, _ error) { b.refusals <- why }
	}
	return New(context.Background(), cfg)
}

// dial connects a client.
func (s *served) dial(t testing.TB, o *client.ConnOptions) *client.Conn {
	t.Helper()
	c, err := client.Dial(t.Context(), "amqp://"+s.address, o)
	clustertest.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func session(t testing.TB, c *client.Conn) *client.Session {
	t.Helper()
	s, err := c.NewSession(t.Context(), nil)
	clustertest.Must(t, err)
	return s
}

func sender(t testing.TB, s *client.Session, address string, o *client.SenderOptions) *client.Sender {
	t.Helper()
	v, err := s.NewSender(t.Context(), address, o)
	clustertest.Must(t, err)
	return v
}

func receiver(t testing.TB, s *client.Session, address string, o *client.ReceiverOptions) *client.Receiver {
	t.Helper()
	v, err := s.NewReceiver(t.Context(), address, o)
	clustertest.Must(t, err)
	return v
}

func receive(t testing.TB, v *client.Receiver) *client.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := v.Receive(ctx, nil)
	clustertest.Must(t, err)
	return m
}
