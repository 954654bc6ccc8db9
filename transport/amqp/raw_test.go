package amqp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// raw is a client that writes and reads single frames.
type raw struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// got is a frame from the server.
type got struct {
	channel uint16
	code    uint64 // 0: an empty frame
	list    wire.Value
	payload []byte
}

// dialRaw connects over loopback.
func dialRaw(t testing.TB, s *served) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	clustertest.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return &raw{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// pipe connects without a network.
func pipe(t testing.TB, s *Server) *raw {
	t.Helper()
	ours, theirs := net.Pipe()
	s.Serve(theirs)
	t.Cleanup(func() { ours.Close() })
	return &raw{t: t, conn: ours, in: bufio.NewReader(ours)}
}

func (p *raw) write(b []byte) *raw {
	p.t.Helper()
	_, err := p.conn.Write(b)
	clustertest.Must(p.t, err)
	return p
}

// framed returns a frame with a performative and a payload.
func framed(channel uint16, f frame, payload ...byte) []byte {
	b := f.Append(wire.BeginFrame(nil, wire.FrameAMQP, channel))
	return wire.EndFrame(append(b, payload...), 0)
}

func (p *raw) frame(channel uint16, f frame, payload ...byte) *raw {
	p.t.Helper()
	return p.write(framed(channel, f, payload...))
}

// ending is a performative with an error only.
type ending uint64

func (e ending) Append(b []byte) []byte {
	if e == wire.CodeEnd {
		return wire.AppendEnd(b, nil)
	}
	return wire.AppendClose(b, nil)
}

// next reads a frame. It reports false at the end of the connection.
func (p *raw) next() (g got, ok bool) {
	p.t.Helper()
	header := make([]byte, wire.HeaderBytes)
	if _, err := io.ReadFull(p.in, header); err != nil {
		return got{}, false
	}
	h, err := wire.ReadFrameHeader(header)
	clustertest.Must(p.t, err)
	body := make([]byte, h.Size-wire.HeaderBytes)
	if _, err := io.ReadFull(p.in, body); err != nil {
		return got{}, false
	}
	g.channel = h.Channel
	if len(body) == 0 {
		return g, true
	}
	g.code, g.list, g.payload, err = wire.ReadPerformative(body)
	clustertest.Must(p.t, err)
	return g, true
}

// want reads frames with these codes.
func (p *raw) want(codes ...uint64) (last got) {
	p.t.Helper()
	for _, code := range codes {
		g, ok := p.next()
		if !ok || g.code != code {
			p.t.Fatalf("got a frame with code 0x%x (%v), want 0x%x: %x", g.code, ok, code, []byte(g.list))
		}
		last = g
	}
	return last
}

// until reads frames up to one with this code.
func (p *raw) until(code uint64) got {
	p.t.Helper()
	for {
		g, ok := p.next()
		if !ok {
			p.t.Fatalf("the connection ended before a frame with code 0x%x", code)
		}
		if g.code == code {
			return g
		}
	}
}

// wantError reads frames up to an end, a close or a detach with a condition.
func (p *raw) wantError(code uint64, condition string) {
	p.t.Helper()
	g := p.until(code)
	var err *wire.Error
	if code == wire.CodeDetach {
		d, malformed := wire.ReadDetach(g.list)
		clustertest.Must(p.t, malformed)
		err = d.Error
	} else {
		var malformed error
		err, malformed = wire.ReadEnding(g.list)
		clustertest.Must(p.t, malformed)
	}
	if err == nil || err.Condition != condition {
		p.t.Fatalf("frame 0x%x has the error %v, want %s", code, err, condition)
	}
}

// wantEnd reads up to the end of the connection.
func (p *raw) wantEnd() {
	p.t.Helper()
	for {
		if _, ok := p.next(); !ok {
			return
		}
	}
}

// header exchanges a protocol header.
func (p *raw) header(h string) *raw {
	p.t.Helper()
	p.write([]byte(h))
	answer := make([]byte, wire.HeaderBytes)
	_, err := io.ReadFull(p.in, answer)
	clustertest.Must(p.t, err)
	if string(answer) != h {
		p.t.Fatalf("the answer to %q is %q", h, answer)
	}
	return p
}

// open opens the connection.
func (p *raw) open() *raw {
	p.t.Helper()
	return p.openWith(&wire.Open{ContainerID: "raw"})
}

func (p *raw) openWith(o *wire.Open) *raw {
	p.t.Helper()
	p.header(wire.ProtocolAMQP).frame(0, o).want(wire.CodeOpen)
	return p
}

func (p *raw) begin(channel uint16) *raw {
	p.t.Helper()
	p.frame(channel, &wire.Begin{IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20}).want(wire.CodeBegin)
	return p
}

// attach sends an attach, with the role of the client.
func (p *raw) attach(channel uint16, handle uint32, role wire.Role, address string) *raw {
	p.t.Helper()
	return p.frame(channel, attachment(handle, role, address))
}

func attachment(handle uint32, role wire.Role, address string) *wire.Attach {
	named := wire.Value(wire.AppendString(nil, address))
	a := &wire.Attach{
		Name: fmt.Sprint("link", handle), Handle: handle, Role: role, Source: (&wire.Source{Address: named}).Append(nil),
		Target: (&wire.Target{Address: named}).Append(nil),
	}
	if role == wire.Sender {
		a.InitialDeliveryCount = wire.Some[uint32](0)
	}
	return a
}

// data returns a message with a body of so many bytes.
func data(n int) []byte {
	return wire.AppendBinary(wire.AppendDescriptor(nil, wire.CodeData), make([]byte, n))
}

// message sends an unsettled message, in parts of at most 32,000 bytes.
func (p *raw) message(channel uint16, handle, id uint32, m []byte) *raw {
	p.t.Helper()
	for first := true; first || len(m) > 0; first = false {
		part := m[:min(len(m), 32_000)]
		m = m[len(part):]
		t := &wire.Transfer{Handle: handle, More: len(m) > 0}
		if first {
			t.DeliveryID, t.DeliveryTag = wire.Some(id), binary.BigEndian.AppendUint32(nil, id)
		}
		p.frame(channel, t, part...)
	}
	return p
}

// flow gives credit to a link whose client receives.
func (p *raw) flow(channel uint16, handle, count, credit uint32) *raw {
	p.t.Helper()
	return p.frame(channel, &wire.Flow{
		NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20, Handle: wire.Some(handle),
		DeliveryCount: wire.Some(count), LinkCredit: wire.Some(credit),
	})
}

// disposition reads frames up to a disposition.
func (p *raw) disposition() wire.Disposition {
	p.t.Helper()
	d, err := wire.ReadDisposition(p.until(wire.CodeDisposition).list)
	clustertest.Must(p.t, err)
	return d
}

// wantEndRaw reads bytes up to the end of the connection.
func (p *raw) wantEndRaw() {
	p.t.Helper()
	_, _ = io.Copy(io.Discard, p.in) // until the end, of whatever kind
}
