package amqp

import (
	"bytes"
	"errors"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/limits"
)

// The SASL mechanisms. MSSBCBS and ANONYMOUS only name the client; it sends a token later.
const (
	mechanismCBS       = "MSSBCBS"
	mechanismAnonymous = "ANONYMOUS"
	mechanismPlain     = "PLAIN"
	mechanismExternal  = "EXTERNAL"
)

var (
	errProtocol = errors.New("the client begins with another protocol")
	errSASL     = errors.New("the client gave wrong credentials")
)

// begin makes the handshake: protocol headers, SASL, and open.
func (c *Conn) begin() error {
	protocol, err := c.protocol()
	if err == nil && protocol == wire.ProtocolSASL {
		if err = c.sasl(); err != nil {
			return err
		}
		protocol, err = c.protocol()
	}
	if err != nil {
		return err
	}
	if protocol != wire.ProtocolAMQP {
		c.send([]byte(wire.ProtocolSASL)) // the client learns what the server speaks
		return errProtocol
	}
	c.send([]byte(wire.ProtocolAMQP))
	c.mu.Lock()
	c.spoken = true
	c.mu.Unlock()
	return c.open()
}

// protocol reads a protocol header.
func (c *Conn) protocol() (string, error) {
	for len(c.input.unused()) < wire.HeaderBytes {
		if err := c.read(); err != nil {
			return "", err
		}
	}
	header := string(c.input.unused()[:wire.HeaderBytes])
	c.input.start += wire.HeaderBytes
	return header, nil
}

// send appends bytes to the output.
func (c *Conn) send(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.output.queued == nil {
		c.output.queued = newBuffer(inputMin)
	}
	c.output.queued.bytes = append(c.output.queued.bytes, b...)
	c.wake()
}

// sasl offers mechanisms, and answers the choice of the client.
func (c *Conn) sasl() error {
	b := wire.BeginFrame([]byte(wire.ProtocolSASL), wire.FrameSASL, 0)
	b = wire.AppendSASLMechanisms(b, mechanismCBS, mechanismAnonymous, mechanismPlain, mechanismExternal)
	c.send(wire.EndFrame(b, wire.HeaderBytes))
	h, body, err := c.nextFrame()
	if err != nil {
		return err
	}
	c.takeTurn()
	code, list, _, err := wire.ReadPerformative(body)
	if err != nil || h.Type != wire.FrameSASL || code != wire.CodeSASLInit {
		return errProtocol
	}
	choice, err := wire.ReadSASLInit(list)
	if err != nil {
		return errProtocol
	}
	ok := c.authenticate(choice)
	outcome := uint8(wire.SASLOk)
	if !ok {
		outcome = wire.SASLAuth
	}
	c.send(wire.EndFrame(wire.AppendSASLOutcome(wire.BeginFrame(nil, wire.FrameSASL, 0), outcome), 0))
	if !ok {
		c.Refused()
		return errSASL
	}
	return nil
}

// authenticate decides about the choice of a client.
func (c *Conn) authenticate(choice wire.SASLInit) bool {
	user, password := choice.Response, []byte(nil)
	switch choice.Mechanism {
	case mechanismCBS, mechanismAnonymous:
		return true
	case mechanismExternal:
	case mechanismPlain: // RFC 4616: authorization identity, user and password, separated by zeros
		parts := bytes.Split(choice.Response, []byte{0})
		if len(parts) != 3 {
			return false
		}
		user, password = parts[1], parts[2]
	default:
		return false
	}
	c.calls.Lock()
	defer c.calls.Unlock()
	return c.server.Handler.Authenticate(c, choice.Mechanism, string(user), string(password))
}

// open reads the open of the client, and answers it.
func (c *Conn) open() error {
	h, body, err := c.nextFrame()
	for err == nil && len(body) == 0 {
		h, body, err = c.nextFrame()
	}
	if err != nil {
		return err
	}
	c.takeTurn()
	code, list, _, err := wire.ReadPerformative(body)
	if err != nil {
		return err
	}
	if h.Type != wire.FrameAMQP || code != wire.CodeOpen {
		return failure(NotAllowed, "The first frame is not an open.")
	}
	o, err := wire.ReadOpen(list)
	if err != nil {
		return err
	}
	if o.MaxFrameSize.Set && o.MaxFrameSize.Value < frameOutMin {
		return failure(InvalidField, "The maximum frame size is below 512 bytes.")
	}
	if idle := ms(o.IdleTimeout); o.IdleTimeout.Set && idle > 0 && idle < peerIdleMin {
		return failure(NotAllowed, "The idle time-out is below one second.")
	}
	limits.NoteRequest(c.net)
	refusal := c.opened(&o)
	c.answerOpen(&o)
	c.input.begun = true
	if refusal != nil {
		return refusal
	}
	return nil
}

func (c *Conn) opened(o *wire.Open) *wire.Error {
	c.calls.Lock()
	defer c.calls.Unlock()
	return c.server.Handler.Opened(c, o)
}

// answerOpen sends the server's open, and applies that of the client.
func (c *Conn) answerOpen(o *wire.Open) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stage != beginning {
		return
	}
	c.queueOpen()
	c.stage = opened
	c.output.frameMax = int(min(o.MaxFrameSize.Or(frameOutMax), frameOutMax))
	now := c.server.Now()
	c.timer.peerIdle = ms(o.IdleTimeout)
	c.timer.verifyUntil = now.Add(verifyTimeout)
	c.output.wrote = now
	c.arm(now)
	c.wake()
}

// queueOpen appends the server's open. It needs the mutex.
func (c *Conn) queueOpen() {
	c.openSent = true
	c.queueFrame(0, &wire.Open{
		ContainerID: c.server.ContainerID, MaxFrameSize: wire.Some[uint32](frameBytesMax), ChannelMax: wire.Some[uint16](channelMax),
		IdleTimeout: wire.Some(uint32(idleTimeout.Milliseconds())),
	})
}
