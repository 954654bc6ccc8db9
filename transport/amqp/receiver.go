package amqp

import (
	"time"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/limits"
)

// Receiver is the server's end of a link whose client sends.
type Receiver struct {
	Link
	handler    Incoming
	creditMax  uint32
	messageMax uint64

	credit        uint32
	deliveryCount uint32
	unsettled     uint32 // messages that the handler has
	message       partial
}

// partial is a message whose last part has not come.
type partial struct {
	open    bool
	id      uint32
	format  uint32
	settled bool
	state   wire.Value
	size    uint64
	buffer  *buffer // nil if the message is too large
	charge  int64   // bytes of memory
	until   time.Time
}

// Detach ends the link with an error, which may be nil. Ended follows when the client has answered.
func (v *Receiver) Detach(err *wire.Error) {
	c := v.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	v.session.detachLink(endpoint{receiver: v}, err)
	c.wake()
}

// fail ends the link because of the client. It needs both mutexes.
func (v *Receiver) fail(err *wire.Error) {
	e := endpoint{receiver: v}
	if v.session.detachLink(e, err) {
		v.session.notify(e, err)
	}
}

// drop drops an incomplete message. It needs the mutex.
func (v *Receiver) drop() {
	c := v.session.conn
	v.message.buffer.free()
	c.memory.shrink(incoming, v.message.charge)
	delete(c.partial, v)
	v.message = partial{}
}

// transfer adds a part of a message.
func (s *Session) transfer(list wire.Value, payload []byte) error {
	t, err := wire.ReadTransfer(list)
	if err != nil {
		return err
	}
	s.nextIncoming++
	if s.window--; s.window <= sessionWindow/2 {
		s.window = sessionWindow
		s.queueFlow()
	}
	e, known := s.links[t.Handle]
	switch v := e.receiver; {
	case !known:
		return s.fail(failure(UnattachedHandle, "The handle of a transfer has no link."))
	case v == nil:
		return s.fail(failure(NotAllowed, "A transfer to a link whose client receives."))
	case v.state == attached:
		v.transfer(&t, payload)
		return nil
	}
	return s.conn.countIdle()
}

func (v *Receiver) transfer(t *wire.Transfer, payload []byte) {
	m, c := &v.message, v.session.conn
	switch {
	case !m.open && !t.DeliveryID.Set:
		v.fail(failure(InvalidField, "A message without delivery id."))
		return
	case !m.open && v.credit == 0:
		v.fail(failure(TransferLimitExceeded, "A message without credit."))
		return
	case !m.open:
		v.credit--
		v.deliveryCount++
		*m = partial{open: true, id: t.DeliveryID.Value, format: t.MessageFormat.Value, state: t.State.Clone()}
	case t.DeliveryID.Set && t.DeliveryID.Value != m.id:
		v.fail(failure(NotAllowed, "A second message before the end of the first."))
		return
	}
	m.settled = m.settled || t.Settled
	if t.Aborted {
		v.drop()
		v.grant()
		return
	}
	if !v.add(payload) {
		v.fail(failure(DetachForced, "The node has no memory for the message."))
		return
	}
	if t.More && m.size/2 > v.messageMax { // so that a message without an end is not read for long
		c.Refused()
		v.fail(tooLarge.Error)
		return
	}
	if !t.More {
		v.complete()
		return
	}
	if m.until.IsZero() {
		m.until = c.input.heard.Add(messageLimit(v.messageMax))
		if c.partial == nil {
			c.partial = make(map[*Receiver]struct{})
		}
		c.partial[v] = struct{}{}
		c.arm(m.until)
		if len(c.partial) > incompleteMax {
			c.Refused()
		}
	}
}

// messageLimit returns the time in which all parts of a message must come: 8 s for each MiB more.
func messageLimit(messageMax uint64) time.Duration {
	return limits.BodyTimeout + time.Duration(min(messageMax, 1<<32)>>20)*8*time.Second //nolint:gosec // bounded
}

// growth returns the memory that n more bytes of the incomplete message need. It needs the mutex.
func (v *Receiver) growth(n int) int64 {
	m := &v.message
	total := m.size + uint64(n) //nolint:gosec // a length
	switch {
	case total > v.messageMax:
		return 0
	case m.buffer == nil:
		return int64(deliveryBytes + bufferSize(int(total))) //nolint:gosec // at most messageMax
	}
	return int64(max(0, bufferSize(int(total))-cap(m.buffer.bytes))) //nolint:gosec // at most messageMax
}

// add appends a part to the incomplete message, and drops what it has if it is too large. It reports
// false without memory.
func (v *Receiver) add(payload []byte) bool {
	m, c := &v.message, v.session.conn
	more := v.growth(len(payload))
	m.size += uint64(len(payload))
	if m.size > v.messageMax {
		c.memory.shrink(incoming, m.charge)
		m.buffer.free()
		m.buffer, m.charge = nil, 0
		return true
	}
	if more > 0 && !c.memory.grow(incoming, more) {
		if c.memory.held[incoming]+more > c.memory.limit(incoming) { // else other connections have the memory
			c.Refused()
		}
		return false
	}
	m.charge += more
	if m.buffer == nil {
		m.buffer = newBuffer(int(m.size)) //nolint:gosec // at most messageMax
	}
	m.buffer = m.buffer.grown(len(payload))
	m.buffer.bytes = append(m.buffer.bytes, payload...)
	return true
}

// complete passes the message on.
func (v *Receiver) complete() {
	m, c := &v.message, v.session.conn
	if m.buffer == nil {
		if !m.settled {
			c.queueDisposition(v.session, wire.Receiver, m.id, &tooLarge)
		}
		v.drop()
		v.grant()
		return
	}
	if !m.until.IsZero() {
		delete(c.partial, v)
	}
	d := &Delivery{
		Message: m.buffer.bytes, Format: m.format, Settled: m.settled, State: m.state,
		receiver: v, id: m.id, buffer: m.buffer, charge: m.charge,
	}
	*m = partial{}
	v.unsettled++
	c.receiving++
	c.events = append(c.events, event{of: d})
}

// tooLarge rejects a message beyond the size of its link.
var tooLarge = wire.State{
	Code: wire.CodeRejected, Error: failure(MessageSizeExceeded, "The message is larger than the maximum of the link."),
}

// grant gives the client credit if it has used half of it. It needs the mutex.
func (v *Receiver) grant() {
	used := v.credit + v.unsettled
	if v.message.open {
		used++
	}
	if v.state != attached || used >= v.creditMax || v.creditMax-used < (v.creditMax+1)/2 {
		return
	}
	v.credit += v.creditMax - used
	v.queueFlow()
}

// queueFlow tells the client its credit.
func (v *Receiver) queueFlow() {
	f := v.session.windows()
	f.Handle, f.DeliveryCount, f.LinkCredit = wire.Some(v.handle), wire.Some(v.deliveryCount), wire.Some(v.credit)
	v.session.conn.queueFrame(v.session.channel, &f)
}

// Delivery is a message from a client. Settle it once, also if the client has settled it.
type Delivery struct {
	Message []byte // valid until Settle
	Format  uint32
	Settled bool       // by the client, which gets no outcome
	State   wire.Value // of the transfer; absent unless it is part of a transaction

	receiver *Receiver
	id       uint32
	buffer   *buffer
	charge   int64
	done     bool
}

// Settle settles the message with an outcome. Without effect if the link has ended.
func (d *Delivery) Settle(outcome wire.State) {
	v := d.receiver
	c := v.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.done {
		return
	}
	d.done, d.Message = true, nil
	d.buffer.free()
	d.buffer = nil
	c.memory.shrink(incoming, d.charge)
	v.unsettled--
	c.receiving--
	c.settled.Signal()
	if v.state == attached && c.stage < closing && !d.Settled {
		outcome.Error = clamped(outcome.Error)
		c.queueDisposition(v.session, wire.Receiver, d.id, &outcome)
	}
	if c.stage == opened {
		v.grant()
	}
	c.leaveIfSettled()
	c.wake()
}
