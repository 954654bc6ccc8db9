package wire

import (
	"bytes"
	"hash/crc32"
	"io"

	"github.com/hashicorp/raft"
)

// A node that is sent a snapshot may have most of what belongs to it. After the request
// to install it the receiver asks, one question at a time, and the sender answers each
// with parts of a snapshot: for the next part of what refers to bodies, which is empty at
// the end, or for some bodies, which come one behind the other. The answer to the request
// ends that.

// Wanted is a body that a node lacks, as the sender's snapshot refers to it.
type Wanted struct {
	Segment, Offset, Size uint32
	Digest                uint64
}

// wantedMin is the least that a Wanted takes.
const wantedMin = 4

// WantedMax is how many bodies one question may ask for.
const WantedMax = 16 << 10

// Want asks for bodies; none: for the next part of the snapshot.
func (c *Compact) Want(bodies []Wanted) error {
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

// Wanted reads what the receiver of a snapshot wants next, or, with answered, its answer
// to the request.
func (c *Compact) Wanted(answer *raft.InstallSnapshotResponse) (bodies []Wanted, answered bool, err error) {
	of, size, _, err := c.read()
	switch {
	case err != nil:
		return nil, false, err
	case size > 0:
		return nil, false, damaged("a frame of kind %d and %d bytes as a question", of, size)
	case of == kindFailure:
		return nil, false, Failure(c.fields)
	}
	d := decoder{in: c.fields, name: c.name}
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
		return nil, false, damaged("a frame of kind %d as a question", of)
	}
}

// short is a number of 32 bits.
func (d *decoder) short() uint32 {
	n := d.number()
	if n > 1<<32-1 {
		d.fail()
	}
	return uint32(n)
}

// PartMax is how much a part of a snapshot has at most.
const PartMax = snapshotPart

// SendPart writes a part of a snapshot.
func (c *Compact) SendPart(part []byte) error {
	c.begin()
	return c.writeData(kindSnapshot, len(part), part)
}

// Part reads one.
func (c *Compact) Part() ([]byte, error) {
	of, size, sum, err := c.read()
	if err != nil {
		return nil, cut(err)
	}
	if of != kindSnapshot || len(c.fields) > 0 || size > snapshotPart {
		return nil, damaged("a frame of kind %d with %d bytes in a snapshot", of, size)
	}
	if c.part == nil {
		c.part = make([]byte, snapshotPart)
	}
	if _, err := io.ReadFull(c.in, c.part[:size]); err != nil {
		return nil, cut(err)
	}
	if size > 0 && crc32.Checksum(c.part[:size], castagnoli) != sum {
		return nil, errSum
	}
	return bytes.Clone(c.part[:size]), nil
}
