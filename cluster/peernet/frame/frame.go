// Package frame writes and reads the frames that carry all messages between nodes after the
// handshake.
//
// A frame is
//
//	kind(u8) fields(u24) size(u32) CRC-32C of the content(u32) CRC-32C of the 12 bytes before(u32)
//	content
//
// with little-endian numbers. The content has size bytes: first as many bytes of fields as the head
// states, then data. Each protocol defines its kinds.
//
// TCP's checksum has 16 bits, and network cards may compute it over content that they have damaged
// before. One wrong byte in a forwarded command would be committed and stop every node that applies
// it. A damaged frame therefore ends its connection. The head has its own checksum, so that a
// damaged length allocates no memory.
//
// Fields and data differ in their memory: a Reader reuses the memory of fields for the next frame,
// and reads data to its final place.
package frame

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Head is the length of a frame's head, in bytes.
const Head = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged reports bytes that no node of this program sends.
var ErrDamaged = errors.New("a message of another node is damaged")

// Damaged returns an ErrDamaged with details.
func Damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

var errSum = Damaged("its content has another checksum")

// Begin empties a buffer and reserves the head of a frame in it. The caller appends the content and
// calls Finish.
func Begin(buffer []byte) []byte { return append(buffer[:0], make([]byte, Head)...) }

// Finish writes the head of a frame. The first fields bytes after the head are the fields; data
// follows, in the buffer and then in pieces.
func Finish(buffer []byte, kind uint8, fields int, pieces ...[]byte) {
	size, sum := len(buffer)-Head, crc32.Checksum(buffer[Head:], castagnoli)
	for _, piece := range pieces {
		size += len(piece)
		sum = crc32.Update(sum, castagnoli, piece)
	}
	binary.LittleEndian.PutUint32(buffer, uint32(kind)|uint32(fields)<<8)
	binary.LittleEndian.PutUint32(buffer[4:], uint32(size))
	binary.LittleEndian.PutUint32(buffer[8:], sum)
	binary.LittleEndian.PutUint32(buffer[12:], crc32.Checksum(buffer[:12], castagnoli))
}

// Limits bounds the frames that a Reader accepts, in bytes.
type Limits struct{ Fields, Data int }

// Reader reads the frames of a connection, on one goroutine.
type Reader struct {
	in     *bufio.Reader
	limits Limits
	fields []byte
	left   int    // bytes of the content to read
	sum    uint32 // of the content read so far
	want   uint32 // the checksum of the whole content
}

// NewReader returns a Reader that reads up to readBuffer bytes with one call.
func NewReader(conn io.Reader, readBuffer int, limits Limits) *Reader {
	return &Reader{in: bufio.NewReaderSize(conn, readBuffer), limits: limits}
}

// head is the head of a frame without its checksums.
type head struct {
	kind         uint8
	fields, data int
}

// peek decodes the next head without consuming it.
func (r *Reader) peek() (h head, sum uint32, err error) {
	b, err := r.in.Peek(Head)
	if err != nil {
		if len(b) > 0 {
			err = cut(err)
		}
		return h, 0, err
	}
	if binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli) {
		return h, 0, Damaged("its head has another checksum")
	}
	first, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	h = head{kind: uint8(first), fields: int(first >> 8)}
	h.data = int(size) - h.fields
	if h.fields > r.limits.Fields || h.data < 0 || h.data > r.limits.Data {
		return h, 0, Damaged("it is of kind %d and has %d bytes, %d of them fields", h.kind, size, h.fields)
	}
	return h, binary.LittleEndian.Uint32(b[8:]), nil
}

// Next reads the head and the fields of the next frame. The fields are valid until the next call.
// The caller must then read all data, which verifies the checksum of both; without data, Next
// verifies it. The error is io.EOF if the connection ended between two frames. After any error, the
// connection is unusable.
func (r *Reader) Next() (kind uint8, fields []byte, data int, err error) {
	h, sum, err := r.peek()
	if err != nil {
		return 0, nil, 0, err
	}
	_, _ = r.in.Discard(Head) // in the buffer since peek
	if cap(r.fields) < h.fields {
		r.fields = make([]byte, h.fields)
	}
	r.fields = r.fields[:h.fields]
	r.left, r.sum, r.want = h.data+h.fields, 0, sum
	if err := r.ReadData(r.fields); err != nil {
		return 0, nil, 0, err
	}
	return h.kind, r.fields, h.data, nil
}

// ReadData fills into with the next data of the frame.
func (r *Reader) ReadData(into []byte) error {
	if len(into) > r.left {
		return Damaged("its content is %d bytes too short", len(into)-r.left)
	}
	if _, err := io.ReadFull(r.in, into); err != nil {
		return cut(err)
	}
	return r.verify(into)
}

// verify adds content to the checksum and compares it at the end of the frame.
func (r *Reader) verify(content []byte) error {
	r.sum = crc32.Update(r.sum, castagnoli, content)
	if r.left -= len(content); r.left == 0 && r.sum != r.want {
		return errSum
	}
	return nil
}

// step bounds the memory allocated at once for data that has not arrived. A message with the
// largest body fits and needs no copying.
const step = 2 << 20

// Data returns the next n bytes of data. The caller may keep them.
func (r *Reader) Data(n int) ([]byte, error) {
	if n > r.left {
		return nil, Damaged("its content is %d bytes too short", n-r.left)
	}
	data := make([]byte, min(n, step))
	for at := 0; ; {
		if _, err := io.ReadFull(r.in, data[at:]); err != nil {
			return nil, cut(err)
		}
		if at = len(data); at == n {
			return data, r.verify(data)
		}
		data = append(data, make([]byte, min(n-at, max(step, at)))...)
	}
}

// Waits reports whether a whole frame has arrived, so that reading it does not block. A damaged
// head does not count: Next reports it.
func (r *Reader) Waits() bool {
	if r.in.Buffered() < Head {
		return false
	}
	h, _, err := r.peek()
	return err == nil && r.in.Buffered() >= Head+h.fields+h.data
}

// cut returns the error of a connection that ended within a frame.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
