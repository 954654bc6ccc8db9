// Package amqptest has a client of AMQP for tests of transactions, which other clients in Go do not have.
// It can also stop between any two frames.
package amqptest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// waitTimeout bounds the wait for a frame that must come.
const waitTimeout = time.Minute

// Client has a connection with one session. It fails its test at an error, unless a method returns it. Not
// safe for concurrent use.
type Client struct {
	// Conn is for tests that end the connection.
	Conn net.Conn
	// Detached has the links that the server has detached, with their errors.
	Detached map[uint32]*wire.Error

	t     testing.TB
	in    *bufio.Reader
	links uint32
	sent  uint32     // transfers
	kept  []received // transfers that came before the answer to another frame
}

// Dial connects a client without a login. The end of the test closes it.
func Dial(t testing.TB, address string) *Client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &Client{t: t, Conn: conn, in: bufio.NewReader(conn), Detached: make(map[uint32]*wire.Error)}
	c.write([]byte(wire.ProtocolAMQP))
	if _, err := io.ReadFull(c.in, make([]byte, wire.HeaderBytes)); err != nil {
		t.Fatal(err)
	}
	c.Frame(&wire.Open{ContainerID: "amqptest"})
	c.Frame(&wire.Begin{IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20})
	c.until(wire.CodeBegin)
	return c
}

func (c *Client) write(b []byte) {
	c.t.Helper()
	if _, err := c.Conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// Frame writes a frame.
func (c *Client) Frame(f interface{ Append([]byte) []byte }, payload ...byte) {
	c.t.Helper()
	c.write(wire.EndFrame(append(f.Append(wire.BeginFrame(nil, wire.FrameAMQP, 0)), payload...), 0))
}

// received is a frame from the server.
type received struct {
	code    uint64
	list    wire.Value
	payload []byte
}

// read reads frames up to one with one of these codes. It keeps messages for Take.
func (c *Client) read(codes ...uint64) (f received, err error) {
	alarm := time.AfterFunc(waitTimeout, func() { _ = c.Conn.Close() })
	defer alarm.Stop()
	for {
		header := make([]byte, wire.HeaderBytes)
		if _, err := io.ReadFull(c.in, header); err != nil {
			return f, err
		}
		h, err := wire.ReadFrameHeader(header)
		if err != nil {
			return f, err
		}
		body := make([]byte, h.Size-wire.HeaderBytes)
		if _, err := io.ReadFull(c.in, body); err != nil {
			return f, err
		}
		if len(body) == 0 {
			continue
		}
		if f.code, f.list, f.payload, err = wire.ReadPerformative(body); err != nil {
			return f, err
		}
		if f.code == wire.CodeDetach {
			d, err := wire.ReadDetach(f.list)
			if err != nil {
				return f, err
			}
			c.Detached[d.Handle] = d.Error
		}
		if slices.Contains(codes, f.code) {
			return f, nil
		}
		if f.code == wire.CodeTransfer {
			c.kept = append(c.kept, f)
		}
	}
}

func (c *Client) until(codes ...uint64) received {
	c.t.Helper()
	f, err := c.read(codes...)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// Attach attaches a link and returns its handle. Detached has the error if the server refuses it.
func (c *Client) Attach(role wire.Role, target *wire.Target, source string, properties wire.Value) uint32 {
	c.t.Helper()
	a := &wire.Attach{
		Name: "l" + string(rune('a'+c.links)), Handle: c.links, Role: role, Target: target.Append(nil), Properties: properties,
		Source: (&wire.Source{Address: wire.AppendString(nil, source)}).Append(nil),
	}
	c.links++
	if role == wire.Sender {
		a.InitialDeliveryCount = wire.Some[uint32](0)
	}
	c.Frame(a)
	c.until(wire.CodeAttach)
	if role == wire.Sender { // with credit, or refused
		c.until(wire.CodeFlow, wire.CodeDetach)
	}
	return a.Handle
}

// Coordinator attaches a link that declares and discharges transactions.
func (c *Client) Coordinator() uint32 {
	c.t.Helper()
	return c.Attach(wire.Sender, &wire.Target{Coordinator: true, Capabilities: wire.AppendSymbol(nil, "amqp:multi-txns-per-ssn")}, "", nil)
}

// Sender attaches a link that sends to an address.
func (c *Client) Sender(address string) uint32 {
	c.t.Helper()
	return c.Attach(wire.Sender, &wire.Target{Address: wire.AppendString(nil, address)}, "", nil)
}

// Receiver attaches a link that receives from an address.
func (c *Client) Receiver(address string) uint32 {
	c.t.Helper()
	return c.Attach(wire.Receiver, &wire.Target{}, address, nil)
}

// Detach detaches a link, and waits for the answer.
func (c *Client) Detach(handle uint32) {
	c.t.Helper()
	c.Frame(&wire.Detach{Handle: handle, Closed: true})
	if _, done := c.Detached[handle]; !done {
		c.until(wire.CodeDetach)
	}
}

// Transfer sends a message without waiting for the answer.
func (c *Client) Transfer(handle uint32, state wire.Value, message []byte) {
	c.t.Helper()
	t := &wire.Transfer{
		Handle: handle, DeliveryID: wire.Some(c.sent), DeliveryTag: binary.BigEndian.AppendUint32(nil, c.sent), State: state,
	}
	c.sent++
	for first := true; first || len(message) > 0; first = false {
		part := message[:min(len(message), 60_000)]
		message = message[len(part):]
		t.More = len(message) > 0
		c.Frame(t, part...)
	}
}

// Answer returns the state of the next disposition, or a state without a code if the server detaches a link.
func (c *Client) Answer() (wire.State, error) {
	f, err := c.read(wire.CodeDisposition, wire.CodeDetach)
	if err != nil || f.code == wire.CodeDetach {
		return wire.State{}, err
	}
	d, err := wire.ReadDisposition(f.list)
	if err != nil {
		return wire.State{}, err
	}
	return wire.ReadState(d.State)
}

// Send sends a message and returns the answer.
func (c *Client) Send(handle uint32, state wire.Value, message []byte) wire.State {
	c.t.Helper()
	c.Transfer(handle, state, message)
	return c.answer()
}

func (c *Client) answer() wire.State {
	c.t.Helper()
	state, err := c.Answer()
	if err != nil {
		c.t.Fatal(err)
	}
	return state
}

// Credit allows a receiver more messages. before is the number of those that it had before.
func (c *Client) Credit(receiver, before, more uint32) {
	c.t.Helper()
	c.Frame(&wire.Flow{NextIncomingID: wire.Some[uint32](0), IncomingWindow: 1 << 20, OutgoingWindow: 1 << 20,
		Handle: wire.Some(receiver), DeliveryCount: wire.Some(before), LinkCredit: wire.Some(more)})
}

// Take receives a message.
func (c *Client) Take() (d wire.Transfer, m wire.Message) {
	c.t.Helper()
	var f received
	if len(c.kept) > 0 {
		f, c.kept = c.kept[0], c.kept[1:]
	} else {
		f = c.until(wire.CodeTransfer)
	}
	d, err := wire.ReadTransfer(f.list)
	if err != nil {
		c.t.Fatal(err)
	}
	if m, err = wire.ReadMessage(f.payload); err != nil {
		c.t.Fatal(err)
	}
	return d, m
}
