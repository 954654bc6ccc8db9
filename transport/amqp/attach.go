package amqp

import (
	"bytes"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// linkState is the progress of a link.
type linkState uint8

const (
	attaching linkState = iota // the handler has not answered
	attached
	detaching // the server has sent a detach, and that of the client has not come
	gone
)

// Link is the common part of the server's ends of links. It is guarded by the mutex of the connection.
type Link struct {
	session *Session
	handle  uint32 // in both directions
	state   linkState
	request *Request // nil once the handler knows the end
	refused bool     // the handler has refused the request
	bytes   int64    // of memory
}

// Conn returns the connection of the link.
func (l *Link) Conn() *Conn { return l.session.conn }

// Session returns the session of the link.
func (l *Link) Session() *Session { return l.session }

// attach begins a link.
func (s *Session) attach(list wire.Value) error {
	list = bytes.Clone(list) // the request refers to it
	a, err := wire.ReadAttach(list)
	if err != nil {
		return err
	}
	if a.Handle > handleMax {
		return failure(FramingError, "The handle is larger than the maximum.")
	}
	if _, used := s.links[a.Handle]; used {
		return s.fail(failure(HandleInUse, "The handle is in use."))
	}
	r := &Request{Attach: a}
	if r.Source, err = readSource(a.Source); err != nil {
		return err
	}
	if r.Target, err = readTarget(a.Target); err != nil {
		return err
	}
	l := Link{session: s, handle: a.Handle, request: r, bytes: linkBytes + int64(len(list))}
	e := endpoint{}
	if a.Role == wire.Sender {
		if !a.InitialDeliveryCount.Set {
			return failure(InvalidField, "A sender without initial delivery count.")
		}
		e.receiver = &Receiver{Link: l, deliveryCount: a.InitialDeliveryCount.Value}
	} else {
		e.sender = &Sender{Link: l}
	}
	r.receiver, r.sender = e.receiver, e.sender
	return s.add(e, r)
}

// add adds a link if there is room for it.
func (s *Session) add(e endpoint, r *Request) error {
	c, l := s.conn, e.link()
	most := linksMax
	if !c.memory.verified {
		most = unverifiedLinks
	}
	if c.links >= most {
		return s.fail(failure(ResourceLimitExceeded, "Too many links."))
	}
	if c.memory.grow(structure, l.bytes) {
		c.events = append(c.events, event{of: r})
	} else {
		r.refuse(failure(DetachForced, "The node has no memory for the link."))
		l.state, l.refused, l.bytes = detaching, true, 0
	}
	s.links[l.handle] = e
	c.links++
	return nil
}

// readSource reads a source, which may be absent.
func readSource(v wire.Value) (wire.Source, error) {
	if v.IsNull() {
		return wire.Source{}, nil
	}
	return wire.ReadSource(v)
}

// readTarget reads a target, which may be absent.
func readTarget(v wire.Value) (wire.Target, error) {
	if v.IsNull() {
		return wire.Target{}, nil
	}
	return wire.ReadTarget(v)
}

// detach ends a link that the client has ended.
func (s *Session) detach(list wire.Value) error {
	d, err := wire.ReadDetach(list)
	if err != nil {
		return err
	}
	e, known := s.links[d.Handle]
	if !known {
		return s.fail(failure(UnattachedHandle, "The handle of a detach has no link."))
	}
	c, l := s.conn, e.link()
	switch l.state {
	case attaching:
		l.request.refuse(nil)
	case attached:
		c.queueFrame(s.channel, &wire.Detach{Handle: d.Handle, Closed: d.Closed})
	}
	s.forget(e, d.Error)
	return nil
}

// detachLink ends an attached link from the server's side. It needs the mutex.
func (s *Session) detachLink(e endpoint, err *wire.Error) bool {
	l, c := e.link(), s.conn
	if l.state != attached || c.stage >= closing {
		return false
	}
	c.queueFrame(s.channel, &wire.Detach{Handle: l.handle, Closed: true, Error: clamped(err)})
	s.release(e)
	l.state = detaching
	return true
}
