package amqp

import "github.com/seriatimq/seriatim/transport/amqp/wire"

// transferBytes is more than a transfer takes in a frame beside its tag and the message: its header,
// the descriptor, and the fields.
const transferBytes = 64

// tagBytesMax bounds a delivery tag (specification 2.8.7).
const tagBytesMax = 32

// offersMax bounds the links that try again at once when there is room.
const offersMax = 16

// Sender is the server's end of a link whose client receives.
type Sender struct {
	Link
	handler Outgoing

	credit        uint32 // messages that may begin
	deliveryCount uint32
	drain         bool // the client waits until its credit is used up
	drained       bool // the handler has no more messages for the drain

	pending queue[*Sent] // not completely in the output
	waiting uint32       // of pending: not begun
	queued  bool         // in the ring of the output, or blocked in the session
	starved bool         // Send had no room
}

// Message is a message for a client.
type Message struct {
	Tag     []byte // at most 32 bytes
	Payload []byte // belongs to this package from now on
	Format  uint32
	// Settled says that the client sends no outcome. It counts only if the link is for both kinds of
	// messages.
	Settled bool
	// Value is for the handler.
	Value any
}

// Sent is a message on its way to a client, or one whose outcome is open.
type Sent struct {
	// Value is that of the message.
	Value any

	sender    *Sender
	id        uint32 // of the delivery, once begun
	tag       []byte
	payload   []byte
	offset    int // of the part that is not in the output
	format    uint32
	settled   bool
	begun     bool
	complete  bool // completely in the output
	answered  bool // the client's outcome has come
	forgotten bool // settled by both sides, or dropped
}

// Sender returns the link of the message.
func (d *Sent) Sender() *Sender { return d.sender }

// attached reports whether the link may be used.
func (s *Sender) attached() bool {
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.usable()
}

// usable needs the mutex.
func (s *Sender) usable() bool { return s.state == attached && s.session.conn.stage == opened }

// Credit returns the number of messages that the client takes beyond those passed to Send.
func (s *Sender) Credit() uint32 {
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.usable() {
		return 0
	}
	return s.left()
}

func (s *Sender) left() uint32 { return s.credit - min(s.credit, s.waiting) }

// Draining reports whether the client waits for Drained.
func (s *Sender) Draining() bool {
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.drain && !s.drained && s.usable()
}

// Drained tells the client, behind the messages passed to Send, that there are no more for its
// credit.
func (s *Sender) Drained() {
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.drain || !s.usable() {
		return
	}
	s.drained = true
	s.endDrain()
	c.wake()
}

// endDrain uses up the credit once nothing is pending.
func (s *Sender) endDrain() {
	if !s.drained || s.pending.len() > 0 {
		return
	}
	s.deliveryCount += s.credit
	s.credit = 0
	s.queueFlow(true)
	s.drain, s.drained = false, false
}

// queueFlow tells the client about the credit.
func (s *Sender) queueFlow(drain bool) {
	f := s.session.windows()
	f.Handle, f.DeliveryCount, f.LinkCredit = wire.Some(s.handle), wire.Some(s.deliveryCount), wire.Some(s.credit)
	f.Drain = drain
	s.session.conn.queueFrame(s.session.channel, &f)
}

// Detach ends the link with an error, which may be nil. Messages that are not written are dropped.
// Ended follows when the client has answered.
func (s *Sender) Detach(err *wire.Error) {
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	s.session.detachLink(endpoint{sender: s}, err)
	c.wake()
}

// Send sends a message. It returns nil, and Flow follows when that may have changed, if the client
// has given no credit, there is no room, or the link has ended.
func (s *Sender) Send(m Message) *Sent {
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.usable() || s.left() == 0 || len(m.Tag) > tagBytesMax {
		return nil
	}
	if !c.memory.grow(outgoing, int64(len(m.Payload)+sentBytes)) {
		if !s.starved {
			s.starved = true
			c.starved.push(s)
			c.arm(c.server.Now().Add(retryAfter))
		}
		return nil
	}
	settled := m.Settled
	switch s.request.Attach.SenderMode.Or(wire.SenderMixed) {
	case wire.SenderSettled:
		settled = true
	case wire.SenderUnsettled:
		settled = false
	}
	d := &Sent{Value: m.Value, sender: s, tag: m.Tag, payload: m.Payload, format: m.Format, settled: settled}
	s.pending.push(d)
	s.waiting++
	s.enqueue()
	c.wake()
	return d
}

// enqueue puts the link in the line of those that may send a frame. It needs the mutex.
func (s *Sender) enqueue() {
	if !s.queued {
		s.queued = true
		s.session.conn.output.ring.push(s)
	}
}

// sendFrame appends the next frame of the first pending message, and reports whether another may
// follow. It needs the mutex.
func (s *Sender) sendFrame() (more bool) {
	if s.pending.len() == 0 || s.state != attached {
		return false
	}
	d, of := s.pending.peek(), s.session
	if of.remoteWindow == 0 {
		s.queued = true
		of.blocked.push(s)
		return false
	}
	if !d.begun {
		if s.credit == 0 { // the client has taken it back
			return false
		}
		s.begin(d)
	}
	of.remoteWindow--
	of.nextOutgoing++
	s.appendFrame(d)
	if d.offset < len(d.payload) {
		return true
	}
	s.pending.pop()
	d.complete, d.payload, d.offset, d.tag = true, nil, 0, nil
	if d.settled || d.forgotten {
		d.forgotten = true
		of.conn.output.charge += sentBytes
	}
	s.endDrain()
	return s.pending.len() > 0
}

// begin uses credit for a message.
func (s *Sender) begin(d *Sent) {
	of := s.session
	s.credit--
	s.deliveryCount++
	s.waiting--
	d.begun, d.id = true, of.nextDelivery
	of.nextDelivery++
	if !d.settled {
		of.unsettled.add(d)
	}
}

// appendFrame appends a transfer with as much of a message as fits.
func (s *Sender) appendFrame(d *Sent) {
	c := s.session.conn
	part := d.payload[d.offset:]
	part = part[:min(len(part), c.output.frameMax-transferBytes-len(d.tag))]
	t := wire.Transfer{Handle: s.handle, More: d.offset+len(part) < len(d.payload)}
	if d.offset == 0 {
		t.DeliveryID, t.DeliveryTag, t.MessageFormat = wire.Some(d.id), d.tag, wire.Some(d.format)
		if t.DeliveryTag == nil {
			t.DeliveryTag = []byte{}
		}
		t.Settled = d.settled
	}
	start := c.beginFrame(wire.FrameAMQP, s.session.channel)
	c.output.queued = c.output.queued.grown(transferBytes + len(d.tag) + len(part))
	b := append(t.Append(c.output.queued.bytes), part...)
	c.output.queued.bytes = wire.EndFrame(b, start)
	c.output.charge += int64(len(part))
	d.offset += len(part)
}

// flow applies a flow of the client.
func (s *Sender) flow(f *wire.Flow, useful bool) error {
	c := s.session.conn
	if s.state == detaching {
		return c.countIdle()
	}
	before, drain := s.left(), s.drain
	if f.LinkCredit.Set {
		// The client may not have seen the newest messages yet.
		unseen := s.deliveryCount - f.DeliveryCount.Or(0)
		s.credit = f.LinkCredit.Value - min(f.LinkCredit.Value, unseen)
	}
	s.drain = f.Drain
	s.drained = s.drained && s.drain
	if s.state == attaching {
		return nil
	}
	if s.waiting > 0 && s.credit > 0 {
		s.enqueue()
	}
	if f.Echo {
		s.queueFlow(false)
	}
	left, drains := s.left(), s.drain
	if drains && s.credit == 0 && s.pending.len() == 0 {
		s.drained = true
		s.endDrain()
	}
	switch {
	case left != before || s.drain && !drain:
		c.events = append(c.events, event{of: s})
	case drains == drain && !useful || f.Echo:
		return c.countIdle()
	}
	return nil
}

// drop drops the messages of a link that ends. It needs the mutex.
func (s *Sender) drop() {
	c := s.session.conn
	for s.pending.len() > 0 {
		d := s.pending.pop()
		left := int64(len(d.payload) - d.offset)
		if !d.begun || d.settled || d.forgotten {
			left += sentBytes
		} else {
			d.complete = true
		}
		d.payload, d.offset = nil, 0
		c.memory.shrink(outgoing, left)
	}
	s.waiting = 0
	n := s.session.unsettled.removeAll(s)
	c.memory.shrink(outgoing, int64(n)*sentBytes)
	is := func(o *Sender) bool { return o == s }
	if s.queued {
		c.output.ring.remove(is)
		s.session.blocked.remove(is)
		s.queued = false
	}
	if s.starved {
		c.starved.remove(is)
		s.starved = false
	}
}

// Settle answers the outcome of the client, or forgets a message whose client has none. Without
// effect if the message is settled or its link has ended.
func (d *Sent) Settle(outcome wire.State) {
	s := d.sender
	c := s.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.settled || d.forgotten || s.state != attached {
		return
	}
	if !d.begun {
		s.pending.remove(func(o *Sent) bool { return o == d })
		s.waiting--
		d.forgotten = true
		c.memory.shrink(outgoing, int64(len(d.payload)+sentBytes))
		s.endDrain()
	} else {
		s.session.forgetSent(d)
		s.session.unsettled.trim()
		outcome.Error = clamped(outcome.Error)
		c.queueDisposition(s.session, wire.Sender, d.id, &outcome)
	}
	c.wake()
}

// forgetSent removes a message that both sides have settled. It needs the mutex.
func (s *Session) forgetSent(d *Sent) {
	s.unsettled.remove(d)
	d.forgotten = true
	if d.complete {
		s.conn.memory.shrink(outgoing, sentBytes)
	}
}

// disposition applies a disposition of the client.
func (s *Session) disposition(list wire.Value) error {
	p, err := wire.ReadDisposition(list)
	if err != nil {
		return err
	}
	c := s.conn
	c.state = wire.State{}
	if p.State != nil {
		if c.state, err = wire.ReadState(p.State); err != nil {
			return err
		}
	}
	// The server settles messages of the client first, and needs no more of them.
	if p.Role == wire.Sender || !p.Settled && !c.state.Terminal() {
		return c.countIdle()
	}
	found := false
	s.unsettled.each(p.First, p.Last, func(d *Sent) {
		if d.answered && !p.Settled {
			return
		}
		found = true
		if p.Settled {
			s.forgetSent(d)
		}
		if !d.answered && d.sender.state == attached {
			d.answered = true
			c.events = append(c.events, event{of: d, settled: p.Settled})
		}
	})
	if !found {
		return c.countIdle()
	}
	c.queueRoom()
	return nil
}

// offerRoom calls Flow of links that had no room.
func (c *Conn) offerRoom() {
	c.calls.Lock()
	defer c.calls.Unlock()
	c.mu.Lock()
	c.queueRoom()
	c.mu.Unlock()
	c.dispatch()
}

// queueRoom needs both mutexes.
func (c *Conn) queueRoom() {
	if c.stage != opened || c.memory.held[outgoing] >= c.memory.limit(outgoing) {
		return
	}
	for range min(c.starved.len(), offersMax) {
		s := c.starved.pop()
		s.starved = false
		c.events = append(c.events, event{of: s})
	}
}
