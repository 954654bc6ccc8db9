package amqp

import "github.com/seriatimq/seriatim/transport/amqp/wire"

// Session is a session of a connection. Its links share the windows of transfers.
type Session struct {
	// Value is for the handler.
	Value any

	conn    *Conn
	channel uint16 // in both directions
	ended   bool   // the server has ended it, and the client's end has not come; or it is over
	links   map[uint32]endpoint

	nextIncoming uint32 // transfer id
	window       uint32 // transfers that the client may send
	nextOutgoing uint32 // transfer id
	remoteWindow uint32 // transfers that the server may send
	nextDelivery uint32 // delivery id
	unsettled    unsettled
	blocked      queue[*Sender] // links that wait for remoteWindow
}

// Conn returns the connection of the session.
func (s *Session) Conn() *Conn { return s.conn }

// endpoint is the server's end of a link: one of the two.
type endpoint struct {
	receiver *Receiver
	sender   *Sender
}

func (e endpoint) link() *Link {
	if e.receiver != nil {
		return &e.receiver.Link
	}
	return &e.sender.Link
}

// beginSession begins a session.
func (c *Conn) beginSession(channel uint16, list wire.Value) error {
	b, err := wire.ReadBegin(list)
	if err != nil {
		return err
	}
	if channel > channelMax || c.sessions[channel] != nil || b.RemoteChannel.Set {
		return failure(NotAllowed, "The channel cannot begin a session.")
	}
	if !c.memory.verified && len(c.sessions) >= unverifiedSessions || !c.memory.grow(structure, sessionBytes) {
		return failure(ResourceLimitExceeded, "Too many sessions.")
	}
	s := &Session{
		conn: c, channel: channel, links: make(map[uint32]endpoint), nextIncoming: b.NextOutgoingID, window: sessionWindow,
		remoteWindow: b.IncomingWindow,
	}
	c.sessions[channel] = s
	c.queueFrame(channel, &wire.Begin{
		RemoteChannel: wire.Some(channel), IncomingWindow: sessionWindow, OutgoingWindow: sessionWindow,
		HandleMax: wire.Some[uint32](handleMax),
	})
	return nil
}

// endByClient ends a session that the client has ended.
func (s *Session) endByClient(list wire.Value) error {
	err, malformed := wire.ReadEnding(list)
	if malformed != nil {
		return malformed
	}
	s.conn.queueEnd(s, nil)
	s.end(err)
	delete(s.conn.sessions, s.channel)
	s.conn.memory.shrink(structure, sessionBytes)
	return nil
}

// fail ends a session because of an error of the client.
func (s *Session) fail(err *wire.Error) error {
	s.conn.queueEnd(s, err)
	s.end(err)
	return nil
}

func (c *Conn) queueEnd(s *Session, err *wire.Error) {
	start := c.beginFrame(wire.FrameAMQP, s.channel)
	c.output.queued.bytes = wire.EndFrame(wire.AppendEnd(c.output.queued.bytes, err), start)
}

// end ends the session and its links without a word to the client. It needs both mutexes.
func (s *Session) end(err *wire.Error) {
	if s.ended {
		return
	}
	s.ended = true
	for _, e := range s.links {
		s.forget(e, err)
	}
	s.conn.events = append(s.conn.events, event{of: s})
}

// forget removes a link and tells the handler, unless the handler knows. It needs both mutexes.
func (s *Session) forget(e endpoint, err *wire.Error) {
	l := e.link()
	delete(s.links, l.handle)
	s.release(e)
	s.conn.links--
	s.conn.memory.shrink(structure, l.bytes)
	l.state = gone
	s.notify(e, err)
}

// notify tells the handler once about the end of a link.
func (s *Session) notify(e endpoint, err *wire.Error) {
	l, c := e.link(), s.conn
	if l.request == nil {
		return
	}
	ending := event{kind: linkEnded, of: e.receiver, err: err}
	if e.sender != nil {
		ending.of = e.sender
	}
	if e.receiver != nil && e.receiver.handler == nil || e.sender != nil && e.sender.handler == nil {
		ending = event{kind: requestAbandoned, of: l.request}
	}
	if !l.refused {
		c.events = append(c.events, ending)
	}
	l.request = nil
}

// release drops the messages of a link. It needs the mutex.
func (s *Session) release(e endpoint) {
	if e.receiver != nil {
		e.receiver.drop()
		return
	}
	e.sender.drop()
}

// flow applies a flow of the client.
func (s *Session) flow(list wire.Value) error {
	f, err := wire.ReadFlow(list)
	if err != nil {
		return err
	}
	// The client may not have seen the newest transfers yet (specification 2.5.6).
	seen := f.NextIncomingID.Or(0)
	before := s.remoteWindow
	s.remoteWindow = seen + f.IncomingWindow - s.nextOutgoing
	if int32(s.remoteWindow) < 0 && f.IncomingWindow < 1<<31 { //nolint:gosec // serial numbers
		s.remoteWindow = 0
	}
	for s.remoteWindow > 0 && s.blocked.len() > 0 {
		v := s.blocked.pop()
		v.queued = false
		v.enqueue()
	}
	if !f.Handle.Set {
		if f.Echo {
			s.queueFlow()
		}
		if s.remoteWindow == before || f.Echo {
			return s.conn.countIdle()
		}
		return nil
	}
	e, known := s.links[f.Handle.Value]
	switch {
	case !known:
		return s.fail(failure(UnattachedHandle, "The handle of a flow has no link."))
	case e.sender != nil:
		return e.sender.flow(&f, s.remoteWindow != before)
	}
	if f.Echo && e.receiver.state == attached {
		e.receiver.queueFlow()
	}
	return s.conn.countIdle()
}

// windows returns a flow with the windows of the session.
func (s *Session) windows() wire.Flow {
	return wire.Flow{
		NextIncomingID: wire.Some(s.nextIncoming), IncomingWindow: s.window, NextOutgoingID: s.nextOutgoing, OutgoingWindow: sessionWindow,
	}
}

func (s *Session) queueFlow() {
	f := s.windows()
	s.conn.queueFrame(s.channel, &f)
}
