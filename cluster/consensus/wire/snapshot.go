package wire

import (
	"errors"
	"io"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// A node that receives a snapshot may have most of its bodies. After the request to install it, the
// receiver sends one request at a time, and the sender answers each with parts: the next part of
// the references, empty at the end, or some bodies in sequence. The answer to the install request
// ends the exchange.

// Wanted identifies a body that a node lacks, as the sender's snapshot refers to it.
type Wanted struct {
	Segment, Offset, Size uint32
	Digest                uint64
}

// wantedMin is the smallest size of an encoded Wanted.
const wantedMin = 4

// WantedMax bounds the bodies in one request.
const WantedMax = 16 << 10

// Want requests bodies, or the next part of the snapshot if bodies is empty.
func (c *Conn) Want(bodies []Wanted) error {
	c.begin()
	e := encoder{c.frame}
	e.number(uint64(len(bodies)))
	for _, b := range bodies {
		e.number(uint64(b.Segment))
		e.number(uint64(b.Offset))
		e.number(uint64(b.Size))
		e.number(b.Digest)
	}
	c.frame = e.out
	return c.write(kindWanted, nil)
}

// Wanted reads the next request of a snapshot's receiver or, if answered, its answer to the install
// request.
func (c *Conn) Wanted(answer *raft.InstallSnapshotResponse) (bodies []Wanted, answered bool, err error) {
	of, fields, err := c.readAnswer()
	if err != nil {
		return nil, false, err
	}
	d := decoder{in: fields, name: c.name}
	switch of {
	case kindAnswer:
		d.installSnapshotAnswer(answer)
		c.name = d.name
		return nil, true, d.end()
	case kindWanted:
		n := d.number()
		if n > WantedMax || n > uint64(len(d.in)/wantedMin) {
			d.fail()
			n = 0
		}
		for range n {
			w := Wanted{d.short(), d.short(), d.short(), d.number()}
			if w.Size > dataMax {
				d.fail()
			}
			bodies = append(bodies, w)
		}
		return bodies, false, d.end()
	default:
		return nil, false, frame.Damaged("it is of kind %d, as a question", of)
	}
}

// short reads a number of 32 bits.
func (d *decoder) short() uint32 {
	n := d.number()
	if n > 1<<32-1 {
		d.fail()
	}
	return uint32(n)
}

// SendPart writes a part of a snapshot, of at most PartMax bytes.
func (c *Conn) SendPart(part []byte) error {
	c.begin()
	return c.writeData(kindSnapshot, len(part), part)
}

// Part reads a part that SendPart wrote.
func (c *Conn) Part() ([]byte, error) {
	of, fields, size, err := c.in.Next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if kind(of) != kindSnapshot || len(fields) > 0 || size > PartMax {
		return nil, frame.Damaged("it is of kind %d and has %d bytes, in a snapshot", of, size)
	}
	return c.in.Data(size)
}

// Snapshot returns a reader of a snapshot of the given size.
func (c *Conn) Snapshot(size int64) io.Reader { return &snapshotReader{conn: c, left: size} }

// snapshotReader joins the parts of a snapshot.
type snapshotReader struct {
	conn   *Conn
	left   int64  // bytes of the snapshot in further parts
	unread []byte // of the current part
}

// Read returns verified content.
func (r *snapshotReader) Read(content []byte) (int, error) {
	if len(r.unread) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		part, err := r.conn.Part()
		if err != nil {
			return 0, err
		}
		if len(part) == 0 || int64(len(part)) > r.left {
			return 0, frame.Damaged("it has %d bytes, with %d left of a snapshot", len(part), r.left)
		}
		r.unread, r.left = part, r.left-int64(len(part))
	}
	n := copy(content, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}
