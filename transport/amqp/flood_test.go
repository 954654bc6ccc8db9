package amqp

import (
	"bufio"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Floods of frames without effect end the connection.
func TestFloods(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty frames": wire.AppendEmptyFrame(nil),
		"flows":        framed(0, &wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20}),
		"echoes":       framed(0, &wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, Echo: true}),
		"link flows": framed(0, &wire.Flow{
			NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, Handle: wire.Some[uint32](0), LinkCredit: wire.Some[uint32](0),
		}),
		"dispositions":            framed(0, accept(0, 1<<31-1)),
		"transfers to a dead end": framed(0, &wire.Transfer{Handle: 1, DeliveryID: wire.Some[uint32](0)}),
		"frames of a dead end":    framed(1, &wire.Flow{}),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, newBroker(), budget.New(testBudget))
			p := dialRaw(t, s).open().begin(0).begin(1)
			p.attach(0, 0, wire.Receiver, "q").want(wire.CodeAttach)
			p.attach(0, 1, wire.Sender, "missing").want(wire.CodeAttach, wire.CodeDetach)
			p.frame(1, &wire.Transfer{Handle: 77}).wantError(wire.CodeEnd, UnattachedHandle)
			go func() {
				for {
					if _, err := p.conn.Write(b); err != nil {
						return
					}
				}
			}()
			p.wantEnd()
			if why := <-s.refusals; why != limits.RefusedFlood {
				t.Errorf("refused as %s", why)
			}
		})
	}
}

// Large frames without effect, and messages for what has ended, are not read for long.
func TestMessagesToADeadEnd(t *testing.T) {
	ends := map[string]func(p *raw){
		"nothing": func(*raw) {}, // a flow that changes nothing has content
		"link": func(p *raw) {
			p.attach(0, 0, wire.Sender, "missing").want(wire.CodeAttach, wire.CodeDetach)
		},
		"session": func(p *raw) {
			p.frame(0, &wire.Transfer{Handle: 77}).wantError(wire.CodeEnd, UnattachedHandle)
		},
		"connection": func(p *raw) {
			p.frame(0, &wire.Open{}).wantError(wire.CodeClose, NotAllowed)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *Server, b *broker, _ *budget.Bytes) {
				p := pipe(t, s).open().begin(0)
				end(p)
				message, sent := framed(0, &wire.Transfer{DeliveryID: wire.Some[uint32](0)}, data(16<<10)...), 0
				if name == "nothing" {
					message = framed(0, &wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20}, data(16<<10)...)
				}
				for {
					n, err := p.conn.Write(message)
					sent += n
					if err != nil {
						break
					}
				}
				if most := idleFramesMax*idleBytes + discardMax + 2*len(message); sent > most {
					t.Errorf("%d bytes were read, more than %d", sent, most)
				}
				if why := <-b.refusals; why != limits.RefusedFlood {
					t.Errorf("refused as %s", why)
				}
			})
		})
	}
}

// A connection with a key that floods takes turns from then on. One that finds no memory, because others have
// it, does not.
func TestTurnsOfFloods(t *testing.T) {
	open := func(p *raw, handle uint32) {
		p.attach(0, handle, wire.Sender, "q").want(wire.CodeAttach, wire.CodeFlow)
		p.frame(0, &wire.Transfer{Handle: handle, DeliveryID: wire.Some(handle), More: true}, 0)
	}
	for name, c := range map[string]struct {
		flood func(p *raw, b *broker, bytes *budget.Bytes)
		turns bool
	}{
		"some incomplete messages": {func(p *raw, _ *broker, _ *budget.Bytes) {
			for handle := range uint32(incompleteMax) {
				open(p, handle)
			}
		}, false},
		"many incomplete messages": {func(p *raw, _ *broker, _ *budget.Bytes) {
			for handle := range uint32(incompleteMax) + 1 {
				open(p, handle)
			}
		}, true},
		"a message without an end": {func(p *raw, b *broker, _ *budget.Bytes) {
			b.largest = 1000
			open(p, 0)
			p.frame(0, &wire.Transfer{More: true}, make([]byte, 3000)...)
			p.wantError(wire.CodeDetach, MessageSizeExceeded)
		}, true},
		"no memory": {func(p *raw, _ *broker, bytes *budget.Bytes) {
			open(p, 0)
			free := bytes.Usage().Limit - bytes.Usage().Used
			clustertest.Must(p.t, bytes.Acquire(p.t.Context(), free, 0))
			for range 20 {
				p.frame(0, &wire.Transfer{More: true}, make([]byte, 2000)...)
			}
			p.wantError(wire.CodeDetach, DetachForced)
			bytes.Release(free)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *Server, b *broker, bytes *budget.Bytes) {
				limiter := unverified.New(time.Now)
				defer limiter.Close()
				ours, theirs := net.Pipe()
				guard := limiter.Wrap(theirs)
				s.Serve(guard)
				p := (&raw{t: t, conn: ours, in: bufio.NewReader(ours)}).open().begin(0)
				c.flood(p, b, bytes)
				synctest.Wait()
				var turn unverified.Turn
				turn.Attach(guard)
				if turn.Held() == c.turns {
					t.Errorf("takes turns: %v", c.turns)
				}
				ours.Close()
			})
		})
	}
}
