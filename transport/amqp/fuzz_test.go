package amqp

import (
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/budget"
)

// FuzzConn sends arbitrary bytes after the begin of a session and two links, and checks that the
// server does not panic, tells the handler each end, and gives all memory back.
func FuzzConn(f *testing.F) {
	start := slices.Concat([]byte(wire.ProtocolAMQP), framed(0, &wire.Open{ContainerID: "x"}),
		framed(0, &wire.Begin{IncomingWindow: 5}), framed(0, attachment(0, wire.Sender, "q")), framed(0, attachment(1, wire.Receiver, "q")))
	id := wire.Some[uint32](0)
	credit := framed(0, &wire.Flow{IncomingWindow: 5, Handle: wire.Some[uint32](1), LinkCredit: wire.Some[uint32](3), Drain: true})
	message := framed(0, &wire.Transfer{DeliveryID: id, DeliveryTag: []byte("t")}, data(10)...)
	txn := binary.BigEndian.AppendUint64(nil, 1)
	outcome := within(txn, wire.CodeModified)
	declare := framed(0, &wire.Transfer{Handle: 2, DeliveryID: id}, value(wire.AppendDeclare(nil))...)
	for _, seed := range [][]byte{
		slices.Concat(credit, message, framed(0, accept(0, 10)), framed(0, ending(wire.CodeEnd)), framed(0, ending(wire.CodeClose))),
		slices.Concat(message, message, message, credit, framed(0, &wire.Detach{Handle: 1, Closed: true})),
		slices.Concat(framed(0, &wire.Transfer{DeliveryID: id, More: true}, data(10)...), framed(0, &wire.Transfer{Aborted: true}),
			message),
		slices.Concat(framed(7, &wire.Begin{}), framed(7, attachment(3, wire.Receiver, "missing")),
			framed(7, &wire.Detach{Handle: 3})),
		slices.Concat(framed(0, attachment(4, wire.Receiver, "later")), framed(0, &wire.Detach{Handle: 4}),
			framed(0, &wire.Flow{Echo: true})),
		message[:20], framed(0, &wire.Transfer{Handle: 9}), wire.AppendEmptyFrame(nil),
		slices.Concat(framed(0, coordinatorLink(2)), declare,
			framed(0, transferWithin(0, 1, txn), data(10)...), credit, message,
			framed(0, &wire.Disposition{Role: wire.Receiver, State: outcome.Append(nil)}),
			framed(0, &wire.Transfer{Handle: 2, DeliveryID: id}, value((&wire.Discharge{TxnID: txn}).Append(nil))...)),
		slices.Concat(framed(0, coordinatorLink(2)), declare,
			framed(0, transferWithin(0, 1, txn), data(10)...), framed(0, &wire.Detach{Handle: 2, Closed: true}),
			framed(0, transferWithin(0, 2, txn), data(10)...)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		synctest.Test(t, func(t *testing.T) {
			handler, bytes := newBroker(), budget.New(testBudget)
			handler.held, handler.requests, handler.gone = make(chan *Delivery, 1000), make(chan *Request, 1000), make(chan *Request, 1000)
			s := newServer(handler, bytes)
			s.Logger = quiet
			p := pipe(t, s)
			go func() { _, _ = io.Copy(io.Discard, p.in) }() // until the end
			_, err := p.conn.Write(slices.Concat(start, b))
			synctest.Wait()
			p.conn.Close()
			handler.await(t, "connection")
			synctest.Wait()
			for len(handler.held) > 0 {
				(<-handler.held).Settle(wire.State{Code: wire.CodeAccepted})
			}
			if n, used := s.Panics(), bytes.Usage().Used; n > 0 || used != 0 {
				t.Fatalf("%d panics and %d bytes in use (%v)", n, used, err)
			}
			if requests, gone := len(handler.requests), len(handler.gone); requests != gone {
				t.Fatalf("%d requests and %d ends", requests, gone)
			}
			sessions, conns := 0, 0
			for len(handler.ended) > 0 {
				switch <-handler.ended {
				case "session":
					sessions++
				case "connection":
					conns++
				}
			}
			if conns != 0 {
				t.Fatal("a second end of the connection")
			}
		})
	})
}
