package bodies

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/message"
)

const (
	// chunkBytes are written at once.
	chunkBytes = 1 << 20
	// unwrittenMax bounds the unwritten bytes; above it Append waits.
	unwrittenMax = 64 << 20
)

// chunk is a part of a segment in memory. Bytes below len(data) never change.
type chunk struct {
	segment uint32
	start   uint32 // in the segment
	data    []byte // its capacity never changes
	full    bool   // complete
	written int    // bytes in the file
	large   bool   // has a body that is written directly
}

func (c *chunk) done() bool { return c.full && c.written == len(c.data) }

// tail holds the end of the segments in memory: unwritten chunks, and written ones as the cache.
// Guarded by Store.mu.
type tail struct {
	chunks    []*chunk // in order; the last one grows until it is full
	unwritten []*chunk // those not yet done
	bytes     int64    // of memory
	waiting   int64    // unwritten bytes
	segment   uint32   // of the next record
	offset    uint32   // of the next record; 0: the segment has no head yet
}

// room returns the chunk and the place for a record of n bytes.
func (t *tail) room(n int, segmentBytes int64) (*chunk, message.Place) {
	if int64(t.offset)+int64(n) > segmentBytes {
		t.endSegment()
	}
	last := t.last()
	need := n
	if t.offset == 0 {
		need += headBytes
	}
	if last == nil || last.full || cap(last.data)-len(last.data) < need {
		t.seal()
		last = &chunk{segment: t.segment, start: t.offset, data: chunkMemory(max(chunkBytes, need), int64(t.offset))}
		t.chunks, t.unwritten = append(t.chunks, last), append(t.unwritten, last)
		t.bytes += int64(cap(last.data))
	}
	if t.offset == 0 {
		last.data = append(last.data, segmentHead(t.segment)...)
		t.offset = uint32(headBytes)
		t.waiting += int64(headBytes)
	}
	last.large = last.large || n >= directBody
	at := message.Place{Segment: t.segment, Offset: t.offset}
	t.offset += uint32(n)
	t.waiting += int64(n)
	return last, at
}

// endSegment makes the next record begin a segment.
func (t *tail) endSegment() {
	if t.offset > 0 {
		t.seal()
		t.segment++
		t.offset = 0
	}
}

// seal completes the last chunk.
func (t *tail) seal() {
	if last := t.last(); last != nil {
		last.full = true
	}
}

func (t *tail) last() *chunk {
	if len(t.chunks) == 0 {
		return nil
	}
	return t.chunks[len(t.chunks)-1]
}

// find returns the record of a body, if it is in memory.
func (t *tail) find(body message.Body) (record []byte, found bool) {
	at := body.Place()
	i, begins := slices.BinarySearchFunc(t.chunks, at, func(c *chunk, at message.Place) int {
		return comparePlaces(message.Place{Segment: c.segment, Offset: c.start}, at)
	})
	if !begins {
		i--
	}
	if i < 0 || t.chunks[i].segment != at.Segment {
		return nil, false
	}
	c := t.chunks[i]
	begin := int64(at.Offset - c.start)
	end := begin + recordBytes(body)
	if end > int64(len(c.data)) {
		return nil, false
	}
	return c.data[begin:end], true
}

// wrote records that n more bytes of the first unwritten chunk are written, and keeps the cache
// below keep bytes.
func (t *tail) wrote(n int, keep int64) {
	c := t.unwritten[0]
	c.written += n
	t.waiting -= int64(n)
	if c.done() {
		t.unwritten[0] = nil
		t.unwritten = t.unwritten[1:]
	}
	for len(t.chunks) > 0 && t.bytes > keep && t.chunks[0].done() {
		t.bytes -= int64(cap(t.chunks[0].data))
		t.chunks[0] = nil
		t.chunks = t.chunks[1:]
	}
}

// end returns the end of the bytes of a segment that are final in its file; whole: all of them.
func (t *tail) end(segment uint32) (offset int64, whole bool) {
	if len(t.unwritten) > 0 {
		first := t.unwritten[0]
		switch {
		case segment > first.segment:
			return 0, false
		case segment == first.segment:
			return int64(first.start) + int64(first.written), false
		}
	}
	if segment == t.segment {
		return int64(t.offset), false
	}
	return 0, true
}
