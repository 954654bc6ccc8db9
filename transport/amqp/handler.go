package amqp

import "github.com/seriatimq/seriatim/transport/amqp/wire"

// Handler decides about connections and links. The calls for one connection, and for its links, come
// one at a time and must not wait. Methods of this package may be called from any goroutine, also
// within a call. Values that a call is given refer to the input: copy them to keep them.
type Handler interface {
	// Authenticate decides about the SASL mechanisms PLAIN and EXTERNAL. A client that chooses
	// another one proves later that it has a key.
	Authenticate(c *Conn, mechanism, user, password string) bool
	// Opened is called with the open of a client. An error closes the connection.
	Opened(c *Conn, open *wire.Open) *wire.Error
	// Attach is called for each new link. Answer with one of the methods of Request, now or later.
	Attach(r *Request)
	// Abandoned is called if a link ends before its request is answered. It is the last call for the
	// link.
	Abandoned(r *Request)
	// SessionEnded is called after the last call for the links of a session.
	SessionEnded(s *Session)
	// Ended is the last call for a connection. It comes for each one, even if Opened did not.
	Ended(c *Conn)
}

// Incoming handles a link whose client sends.
type Incoming interface {
	// Received is called with each message. Settle it, now or later, but without waiting for further
	// input of the same connection, which waits when much is unsettled.
	Received(d *Delivery)
	// Ended is the last call for the link. The error is that of the client, of this package, or nil.
	Ended(err *wire.Error)
}

// Outgoing handles a link whose client receives.
type Outgoing interface {
	// Flow is called when the client has changed Credit, when a drain begins, and when there is room
	// again after Send had none.
	Flow(s *Sender)
	// Disposition is called with the outcome that the client has for a message, at most once. If the
	// client has not settled it, answer with Sent.Settle. The code of the state is 0 if the client
	// has settled the message without an outcome.
	Disposition(d *Sent, state *wire.State, settled bool)
	// Ended is the last call for the link, whose unsettled messages are forgotten.
	Ended(err *wire.Error)
}

// Request is a link that a client wants. It does not refer to the input.
type Request struct {
	// Attach repeats the client's attach, with the role of the client.
	Attach wire.Attach
	Source wire.Source
	Target wire.Target

	receiver *Receiver // if the client sends
	sender   *Sender   // if the client receives
}

// Conn returns the connection of the link.
func (r *Request) Conn() *Conn { return r.Session().conn }

// Session returns the session of the link.
func (r *Request) Session() *Session { return r.link().session }

func (r *Request) link() *Link {
	if r.receiver != nil {
		return &r.receiver.Link
	}
	return &r.sender.Link
}

// Answer has the fields of an attach that are not an echo of the client's.
type Answer struct {
	Source     *wire.Source // nil: as the client sent it
	Target     *wire.Target // nil: as the client sent it
	Properties wire.Value
}

// Receive accepts a link whose client sends. The client may have credit unsettled messages, each of
// up to messageMax bytes, at most 2 MiB. Receive returns nil if the link has ended meanwhile, and otherwise calls of
// Incoming follow.
func (r *Request) Receive(in Incoming, credit uint32, messageMax uint64, a Answer) *Receiver {
	v := r.receiver
	c := v.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if v.state != attaching {
		return nil
	}
	v.handler, v.creditMax, v.messageMax = in, max(credit, 1), min(messageMax, messageBytesMax)
	v.state = attached
	answer := r.answer(a)
	answer.Role = wire.Receiver
	answer.ReceiverMode = wire.Some[uint8](wire.ReceiverFirst) // the server settles at once
	answer.MaxMessageSize = wire.Some(v.messageMax)
	c.queueFrame(v.session.channel, answer)
	v.grant()
	c.wake()
	return v
}

// Send accepts a link whose client receives. Look at Sender.Credit and Sender.Draining afterwards,
// because the client may have given credit already. Send returns nil if the link has ended meanwhile, and otherwise calls of
// Outgoing follow.
func (r *Request) Send(out Outgoing, a Answer) *Sender {
	s := r.sender
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.state != attaching {
		return nil
	}
	s.handler, s.state = out, attached
	answer := r.answer(a)
	answer.Role = wire.Sender
	answer.ReceiverMode = r.Attach.ReceiverMode
	answer.InitialDeliveryCount = wire.Some[uint32](0)
	c.queueFrame(s.session.channel, answer)
	c.wake()
	return s
}

// answer returns the common fields of the server's attach.
func (r *Request) answer(a Answer) *wire.Attach {
	answer := &wire.Attach{
		Name: r.Attach.Name, Handle: r.Attach.Handle, SenderMode: r.Attach.SenderMode,
		Source: r.Attach.Source, Target: r.Attach.Target, Properties: a.Properties,
	}
	if a.Source != nil {
		answer.Source = a.Source.Append(nil)
	}
	if a.Target != nil {
		answer.Target = a.Target.Append(nil)
	}
	return answer
}

// Refuse refuses the link.
func (r *Request) Refuse(err *wire.Error) {
	l := r.link()
	c := l.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.state != attaching {
		return
	}
	r.refuse(err)
	l.state, l.refused = detaching, true
	c.wake()
}

// refuse sends an attach without the terminus that the server would have, and a detach behind it. It
// needs the mutex.
func (r *Request) refuse(err *wire.Error) {
	l := r.link()
	answer := r.answer(Answer{})
	if answer.Role = !r.Attach.Role; answer.Role == wire.Sender {
		answer.Source, answer.InitialDeliveryCount = nil, wire.Some[uint32](0)
		answer.ReceiverMode = r.Attach.ReceiverMode
	} else {
		answer.Target, answer.ReceiverMode = nil, wire.Some[uint8](wire.ReceiverFirst)
	}
	l.session.conn.queueFrame(l.session.channel, answer)
	l.session.conn.queueFrame(l.session.channel, &wire.Detach{Handle: l.handle, Closed: true, Error: clamped(err)})
}
