package servicebus

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// A receive does not go on for a client that has taken its credit back, with or without a drain. It would
// lock a message that the client does not take.
func TestCreditTakenBack(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(plain)
	conn, err := net.Dial("tcp", f.port.Addr().String())
	clustertest.Must(t, err)
	defer conn.Close()
	go func() { _, _ = io.Copy(io.Discard, conn) }() // until the connection ends
	write := func(b []byte) {
		_, err := conn.Write(b)
		clustertest.Must(t, err)
	}
	frame := func(p interface{ Append(b []byte) []byte }) {
		write(wire.EndFrame(p.Append(wire.BeginFrame(nil, wire.FrameAMQP, 0)), 0))
	}
	credit := func(n uint32, drain bool, receives int64) {
		t.Helper()
		frame(&wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 100, Handle: wire.Some[uint32](0),
			DeliveryCount: wire.Some[uint32](0), LinkCredit: wire.Some(n), Drain: drain})
		for end := time.Now().Add(10 * time.Second); f.node.receives.Load() != receives; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("credit %d: %d receives, want %d", n, f.node.receives.Load(), receives)
			}
		}
	}
	write([]byte("AMQP\x00\x01\x00\x00"))
	frame(&wire.Open{ContainerID: "c"})
	frame(&wire.Begin{IncomingWindow: 100})
	frame(&wire.Attach{Name: "l", Role: wire.Receiver, Source: (&wire.Source{Address: wire.AppendString(nil, name)}).Append(nil)})
	for _, drain := range []bool{false, true} {
		credit(1, false, 1)
		credit(0, drain, 0)
	}
}
