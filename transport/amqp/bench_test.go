package amqp

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	client "github.com/Azure/go-amqp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
)

// sink accepts all messages, and gives each link as many as it has credit for.
type sink struct{ payload []byte }

func (sink) Authenticate(*Conn, string, string, string) bool { return true }
func (sink) Opened(c *Conn, _ *wire.Open) *wire.Error        { c.Verified(); return nil }
func (sink) Abandoned(*Request)                              {}
func (sink) SessionEnded(*Session)                           {}
func (sink) Ended(*Conn)                                     {}

func (h sink) Attach(r *Request) {
	if r.Attach.Role == wire.Sender {
		r.Receive(accepting{}, 1000, 1<<20, Answer{})
		return
	}
	r.Send(&source{payload: h.payload}, Answer{})
}

type accepting struct{}

func (accepting) Received(d *Delivery) { d.Settle(wire.State{Code: wire.CodeAccepted}) }
func (accepting) Ended(*wire.Error)    {}

type source struct {
	payload []byte
	tag     [8]byte
}

func (g *source) Flow(s *Sender) {
	for s.Send(Message{Tag: g.tag[:], Payload: g.payload}) != nil {
		continue
	}
}

func (g *source) Disposition(d *Sent, state *wire.State, settled bool) {
	if !settled {
		d.Settle(*state)
	}
	g.Flow(d.Sender())
}

func (g *source) Ended(*wire.Error) {}

// BenchmarkReceived measures messages from a client that sends frames without waiting.
func BenchmarkReceived(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := serveHandler(b, sink{}, budget.New(testBudget))
			p := dialRaw(b, s).open().begin(0)
			p.attach(0, 0, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
			b.ReportAllocs()
			b.ResetTimer()
			const window = 400 // messages without an answer
			body, first, frames := data(size), uint32(0), []byte(nil)
			for sent := 0; sent < b.N; {
				n := min(window, b.N-sent)
				frames = frames[:0]
				for range n {
					start := len(frames)
					frames = wire.BeginFrame(frames, wire.FrameAMQP, 0)
					t := wire.Transfer{DeliveryID: wire.Some(first), DeliveryTag: []byte("tag")}
					frames = wire.EndFrame(append(t.Append(frames), body...), start)
					first++
				}
				p.write(frames)
				for done := false; !done; {
					done = p.disposition().Last == first-1
				}
				sent += n
			}
		})
	}
}

// BenchmarkSent measures messages to a client that accepts them in groups.
func BenchmarkSent(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := serveHandler(b, sink{payload: data(size)}, budget.New(testBudget))
			p := dialRaw(b, s).open().begin(0)
			p.attach(0, 0, wire.Receiver, "q").want(wire.CodeAttach)
			b.ReportAllocs()
			b.ResetTimer()
			const window = 400
			header := make([]byte, wire.HeaderBytes)
			for got := 0; got < b.N; {
				n := min(window, b.N-got)
				p.frame(0, &wire.Flow{
					NextIncomingID: wire.Some(uint32(got)), IncomingWindow: 1 << 20, Handle: wire.Some[uint32](0),
					DeliveryCount: wire.Some(uint32(got)), LinkCredit: wire.Some(uint32(n)),
				})
				for transfers := 0; transfers < n; transfers++ {
					p.skip(header)
				}
				p.frame(0, accept(uint32(got), uint32(got+n-1)))
				for last := uint32(0); last != uint32(got+n-1); {
					last = p.disposition().Last
				}
				got += n
			}
		})
	}
}

// skip reads a frame without looking at it.
func (p *raw) skip(header []byte) {
	_, err := io.ReadFull(p.in, header)
	if err == nil {
		_, err = p.in.Discard(int(binary.BigEndian.Uint32(header)) - wire.HeaderBytes)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// BenchmarkClient measures a client library that waits for each outcome, on so many links.
func BenchmarkClient(b *testing.B) {
	for _, links := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(links), func(b *testing.B) {
			s := serveHandler(b, sink{}, budget.New(testBudget))
			c := s.dial(b, nil)
			all := make(chan *client.Sender, links)
			for range links {
				all <- sender(b, session(b, c), "q", nil)
			}
			b.ReportAllocs()
			b.SetParallelism(links)
			b.ResetTimer()
			b.RunParallel(func(next *testing.PB) {
				out := <-all
				for next.Next() {
					clustertest.Check(b, out.Send(b.Context(), client.NewMessage(make([]byte, 100)), nil))
				}
				all <- out
			})
		})
	}
}
