package consensus

import (
	"errors"
	"io"
	"net"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/fsm"
)

// lackingConn is the end of a connection over which this node is sent what it lacks of a
// snapshot.
type lackingConn struct {
	*wire.Compact
	fill func(*wire.Compact) *inlined
}

// Snapshot puts the snapshot together.
func (c lackingConn) Snapshot(int64) io.Reader { return c.fill(c.Compact) }

func (t *transport) speakInstall(conn net.Conn) wire.Conn {
	return lackingConn{wire.NewCompact(conn), t.Snapshots.fill}
}

// fill puts together a snapshot that the leader sends without bodies: those that the
// present state has are its own, until the snapshot takes its place, and the leader is
// asked for the others.
func (g *Group) fill(from *wire.Compact) *inlined {
	return newInlined(func(w io.Writer) error {
		if g.options.Bodies != nil {
			// Not before it is read: until then the library may install another one, whose
			// predecessor's bodies would be kept as well.
			defer g.options.Bodies.PinSnapshot()()
		}
		return fsm.FillSnapshot(w, &references{from: from}, &filler{from: from, machine: g.options.Machine, bodies: g.options.Bodies})
	})
}

// references is what the leader sends that refers to bodies. At most one part of it is in
// memory.
type references struct {
	from *wire.Compact
	rest []byte
}

// Read asks for the next part when one is read.
func (r *references) Read(content []byte) (int, error) {
	if len(r.rest) == 0 {
		err := r.from.Want(nil)
		if err == nil {
			r.rest, err = r.from.Part()
		}
		if err != nil {
			return 0, err
		}
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(content, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// filler gives the bodies of one section after the other.
type filler struct {
	from    *wire.Compact
	machine *fsm.FSM
	bodies  fsm.BodyStore
	held    []fsm.Body // those of the section that are to be given, in order; zero: the leader sends it
	rest    []byte     // what the leader has sent of bodies
	lacking []wire.Wanted
}

var errTooMany = errors.New("a section of the snapshot has too many bodies")

// Section asks the leader for what this node lacks of a section.
func (f *filler) Section(wanted []fsm.WantedBody) error {
	f.held, f.lacking = f.held[:0], f.lacking[:0]
	for _, w := range wanted {
		body, held := f.machine.HeldBody(w)
		if !held {
			body = fsm.Body{}
			at := w.Body.Place()
			f.lacking = append(f.lacking, wire.Wanted{Segment: at.Segment, Offset: at.Offset, Size: uint32(w.Body.Len()), Digest: w.Body.Digest()})
		}
		f.held = append(f.held, body)
	}
	switch {
	case len(f.lacking) > wire.WantedMax:
		return errTooMany
	case len(f.lacking) > 0:
		return f.from.Want(f.lacking)
	}
	return nil
}

// Read is the next body of the section.
func (f *filler) Read(wanted fsm.Body) (fsm.Body, error) {
	body := f.held[0]
	f.held = f.held[1:]
	if body.Len() > 0 { // no stored body is empty
		if body.Stored() {
			return f.bodies.Read(body)
		}
		return body, nil
	}
	for len(f.rest) < wanted.Len() {
		part, err := f.from.Part()
		if err != nil {
			return body, err
		}
		if len(part) == 0 {
			return body, io.ErrUnexpectedEOF
		}
		f.rest = append(f.rest, part...)
	}
	text := string(f.rest[:wanted.Len()])
	f.rest = f.rest[wanted.Len():]
	return fsm.NewBody(text), nil
}
