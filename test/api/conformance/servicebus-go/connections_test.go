package servicebus

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// proxy is a TCP proxy whose connections a test cuts.
type proxy struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (f *fixture) proxy(target string) *proxy {
	f.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	f.must(err)
	p := &proxy{Listener: listener}
	f.Cleanup(func() {
		if err := p.Close(); err != nil {
			f.Error(err)
		}
		p.cut()
	})
	go func() {
		for {
			client, err := p.Accept()
			if err != nil {
				return // closed
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, client, server)
			p.mu.Unlock()
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	return p
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	p.open = nil
}

// behind opens a client behind a proxy, which opens lost connections again.
func (f *fixture) behind() (*proxy, *bus.Client) {
	f.Helper()
	p := f.proxy(endpoints[0])
	return p, f.open(connection(p.Addr().String(), key, secret), 5)
}

func TestEveryNode(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	for _, endpoint := range endpoints {
		s, err := f.open(connection(endpoint, key, secret), 0).NewSender(path, nil)
		f.must(err)
		f.must(s.SendMessage(f.ctx, message(endpoint), nil))
	}
	for _, endpoint := range endpoints {
		r, err := f.open(connection(endpoint, key, secret), 0).NewReceiverForQueue(path, nil)
		f.must(err)
		got := f.one(r)
		f.same(string(got.Body), endpoint, "body")
		f.complete(r, got)
	}
	f.empty(f.receiver(path))
}

func TestManyLinks(t *testing.T) {
	f := newFixture(t)
	paths := make([]string, 20)
	for i := range paths {
		paths[i] = f.queue(admin.QueueProperties{})
	}
	client := f.client()
	var group sync.WaitGroup
	exchange := func(path string) error {
		s, err := client.NewSender(path, nil)
		if err != nil {
			return err
		}
		if err := s.SendMessage(f.ctx, message(path), nil); err != nil {
			return err
		}
		r, err := client.NewReceiverForQueue(path, nil)
		if err != nil {
			return err
		}
		got, err := r.ReceiveMessages(f.ctx, 1, nil)
		if err != nil || len(got) != 1 || string(got[0].Body) != path {
			return fmt.Errorf("received %v: %w", bodies(got), err)
		}
		return r.CompleteMessage(f.ctx, got[0], nil)
	}
	for _, path := range paths {
		group.Go(func() {
			if err := exchange(path); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestClosedClient(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	client := f.open(connection(endpoints[0], key, secret), 0)
	s, err := client.NewSender(path, nil)
	f.must(err)
	f.must(s.SendMessage(f.ctx, message("x"), nil))
	f.must(client.Close(f.ctx))
	f.holds(s.SendMessage(f.ctx, message("y"), nil) != nil, "a closed client sends")
	f.same(bodies(f.drain(path, 1)), []string{"x"}, "bodies")
}

func TestSenderOpensAConnectionAgain(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	way, client := f.behind()
	s, err := client.NewSender(path, nil)
	f.must(err)
	for _, m := range numbered(6) {
		f.must(s.SendMessage(f.ctx, m, nil))
		way.cut()
	}
	f.same(bodies(f.drain(path, 6)), texts(6), "bodies")
}

func TestSenderResendsUnderItsMessageID(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{RequiresDuplicateDetection: new(true)})
	way, client := f.behind()
	s, err := client.NewSender(path, nil)
	f.must(err)
	for i, m := range numbered(200) {
		if i%40 == 20 {
			go way.cut() // during the send
		}
		f.must(s.SendMessage(f.ctx, m, nil))
	}
	f.same(bodies(f.drain(path, 200)), texts(200), "bodies")
}

func TestReceiverOpensAConnectionAgain(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	way, client := f.behind()
	r, err := client.NewReceiverForQueue(path, nil)
	f.must(err)
	for _, body := range texts(3) {
		f.send(path, message(body))
		peeked, err := r.PeekMessages(f.ctx, 1, nil)
		f.must(err)
		got := f.one(r)
		f.same([]string{string(got.Body), string(peeked[0].Body)}, []string{body, body}, "bodies")
		f.complete(r, got)
		way.cut()
	}
}

func TestSessionEndsWithItsConnection(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(admin.QueueProperties{})
	f.send(path, of("s", "x")...)
	way := f.proxy(endpoints[0])
	lost, err := f.open(connection(way.Addr().String(), key, secret), 0).AcceptSessionForQueue(f.ctx, path, "s", nil)
	f.must(err)
	got := f.one(lost)
	way.cut()
	holder := f.session(path, "s", nil)
	// The SDK opens a connection, and cannot accept the session.
	f.failed(lost.CompleteMessage(f.ctx, got, nil), cannotBeLocked, "")
	again := f.one(holder)
	f.same([]any{string(again.Body), again.DeliveryCount}, []any{"x", first}, "message")
	f.complete(holder, again)
}

func TestNamesInAnyCase(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	other := []byte(path)
	other[0] = 'G'
	f.send(string(other), message("x"))
	f.same(bodies(f.drain(path, 1)), []string{"x"}, "bodies")
}
