package attacker

import (
	"context"
	"fmt"
	"net"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// AMQP is an attack by AMQP 1.0.
type AMQP string

// The attacks. Those of links name the queue clients.fifo. Without a key, a server refuses its links.
const (
	SASL    AMQP = "sasl"    // logs in with a wrong mechanism, again and again
	Noise   AMQP = "noise"   // sends frames without meaning
	Links   AMQP = "links"   // opens 10,000 links on all connections together
	Windows AMQP = "windows" // asks for many messages, with windows of zero
	Parts   AMQP = "parts"   // sends messages whose parts never end
	Unread  AMQP = "unread"  // asks for many messages and reads nothing
)

const (
	linksTotal = 10_000
	manyLinks  = 100
	partBytes  = 16 << 10
)

// attack sends over one connection, which is one of conns.
func (a AMQP) attack(ctx context.Context, conn net.Conn, conns int) {
	if a == SASL {
		init := wire.SASLInit{Mechanism: "NONE"}
		_, _ = conn.Write(frame([]byte(wire.ProtocolSASL), wire.FrameSASL, 0, &init, nil)) // the server may have closed it
		return
	}
	init := wire.SASLInit{Mechanism: "ANONYMOUS"}
	b := frame([]byte(wire.ProtocolSASL), wire.FrameSASL, 0, &init, nil)
	b = append(b, wire.ProtocolAMQP...)
	b = frame(b, wire.FrameAMQP, 0, &wire.Open{ContainerID: "attacker"}, nil)
	window := uint32(1 << 30)
	if a == Windows {
		window = 0
	}
	b = frame(b, wire.FrameAMQP, 0, &wire.Begin{IncomingWindow: window, OutgoingWindow: 1 << 30}, nil)
	links := manyLinks
	if a == Links {
		links = linksTotal / conns
	}
	for i := range uint32(links) { //nolint:gosec // few
		b = a.link(b, i)
	}
	for write := b; ctx.Err() == nil; write = a.more(write[:0]) {
		if _, err := conn.Write(write); err != nil {
			return
		}
		if a != Noise && a != Parts {
			return
		}
	}
}

// link appends a link, with credit if it is to have any.
func (a AMQP) link(b []byte, handle uint32) []byte {
	address := wire.Value(wire.AppendString(nil, "clients"))
	attach := wire.Attach{
		Name: fmt.Sprint("link", handle), Handle: handle, Role: wire.Receiver, Source: (&wire.Source{Address: address}).Append(nil),
		Target: (&wire.Target{Address: address}).Append(nil),
	}
	if a == Parts {
		attach.Role, attach.InitialDeliveryCount = wire.Sender, wire.Some[uint32](0)
	}
	b = frame(b, wire.FrameAMQP, 0, &attach, nil)
	if a == Windows || a == Unread {
		flow := wire.Flow{
			NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 30, OutgoingWindow: 1 << 30, Handle: wire.Some(handle),
			DeliveryCount: wire.Some[uint32](0), LinkCredit: wire.Some[uint32](10_000),
		}
		if a == Windows {
			flow.IncomingWindow = 0
		}
		b = frame(b, wire.FrameAMQP, 0, &flow, nil)
	}
	return b
}

// more appends what the attack repeats.
func (a AMQP) more(b []byte) []byte {
	if a == Noise {
		b = frame(b, wire.FrameAMQP, 0, &wire.Flow{IncomingWindow: 1, OutgoingWindow: 1}, nil)
		return frame(b, wire.FrameAMQP, 0, &wire.Disposition{Role: wire.Receiver, Last: 1 << 30, Settled: true}, nil)
	}
	for i := range uint32(manyLinks) {
		part := wire.Transfer{Handle: i, DeliveryID: wire.Some(i), DeliveryTag: []byte("x"), More: true}
		part.MessageFormat = wire.Some[uint32](0)
		b = frame(b, wire.FrameAMQP, 0, &part, make([]byte, partBytes))
	}
	return b
}

func frame(b []byte, kind uint8, channel uint16, performative interface{ Append(b []byte) []byte }, payload []byte) []byte {
	start := len(b)
	b = performative.Append(wire.BeginFrame(b, kind, channel))
	return wire.EndFrame(append(b, payload...), start)
}
