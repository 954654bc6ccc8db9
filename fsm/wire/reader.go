package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue/message"
)

// Codec has the functions for one message.
type Codec[T any] struct {
	Size   func(*T) int
	Append func([]byte, *T) []byte
	Read   func(Reader, *T) error
}

// Reader walks over the fields of one message. Unknown fields, which a later version may have
// added, are skipped.
type Reader struct {
	rest   string
	tag    uint64 // of the field whose value is next
	err    error
	memory *Memory
	copies bool // texts are copies
}

// NewReader returns a Reader whose values share no memory with data.
func NewReader(data []byte) Reader { return Reader{rest: textOf(data), copies: true} }

// NewSharedReader returns a Reader whose texts are parts of text.
func NewSharedReader(text string) Reader { return Reader{rest: text} }

// textOf returns data as text. The caller must not change data while a Reader uses it.
func textOf(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

func (r *Reader) fail(text string, args ...any) {
	if r.err == nil {
		r.err = malformed(text, args...)
	}
	r.rest = ""
}

func malformed(text string, args ...any) error {
	return fmt.Errorf("%w: "+text, append([]any{format.ErrMalformed}, args...)...)
}

// next reads the tag of the next field. It reports false at the end and after an error.
func (r *Reader) next() bool {
	if r.rest == "" || r.err != nil {
		return false
	}
	r.tag = r.number()
	return r.err == nil
}

func (r *Reader) number() uint64 {
	if r.rest != "" && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	return r.longNumber()
}

func (r *Reader) longNumber() (v uint64) {
	for i := range min(len(r.rest), binary.MaxVarintLen64) {
		b := r.rest[i]
		if b < 0x80 {
			if i == binary.MaxVarintLen64-1 && b > 1 {
				break
			}
			r.rest = r.rest[i+1:]
			return v | uint64(b)<<(7*i)
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	r.fail("a number without end")
	return 0
}

func (r *Reader) fixed() uint64 {
	if len(r.rest) < 8 {
		r.fail("a number of %d bytes", len(r.rest))
		return 0
	}
	v := r.rest[:8]
	r.rest = r.rest[8:]
	return uint64(v[0]) | uint64(v[1])<<8 | uint64(v[2])<<16 | uint64(v[3])<<24 |
		uint64(v[4])<<32 | uint64(v[5])<<40 | uint64(v[6])<<48 | uint64(v[7])<<56
}

// narrow reads a number for a type that holds no more than limit.
func (r *Reader) narrow(limit uint32, name string) uint32 {
	v := uint32(r.number())
	if v > limit {
		r.fail("a %s of %d", name, v)
	}
	return v
}

// part returns a field of bytes, a part of the input.
func (r *Reader) part() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.fail("a field of %d bytes, %d are left", n, len(r.rest))
		return ""
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

func (r *Reader) text() string {
	if r.copies {
		return r.copy()
	}
	return r.part()
}

func (r *Reader) copy() string { return strings.Clone(r.part()) }

// name reads a text that other messages probably have, too.
func (r *Reader) name() string {
	if r.memory == nil {
		return r.text()
	}
	return r.memory.name(r.part())
}

// bytes returns a copy of a field, or nil if it is empty. With a Memory, it returns a part of the
// input.
func (r *Reader) bytes() []byte {
	v := r.part()
	switch {
	case v == "":
		return nil
	case r.memory == nil:
		return []byte(v)
	}
	return unsafe.Slice(unsafe.StringData(v), len(v))
}

// fill reads a value of fixed length. An empty field stands for zeros.
func (r *Reader) fill(value []byte, name string) {
	v := r.part()
	if len(v) != 0 && len(v) != len(value) {
		r.fail("a %s of %d bytes", name, len(v))
		return
	}
	clear(value)
	copy(value, v)
}

func (r *Reader) tooMany(name string) error {
	return malformed("more than one %s for each of its kinds", name)
}

// nested returns a Reader of the message in a field.
func (r *Reader) nested() Reader {
	v := r.part()
	return Reader{rest: v, memory: r.memory, copies: r.copies}
}

// own returns a Reader of the message in a field whose texts share one copy of it.
func (r *Reader) own() Reader { return Reader{rest: r.copy()} }

// run returns the number of consecutive fields with the current tag, including the current one.
func (r *Reader) run() (n int) {
	for walk := *r; walk.tag == r.tag; {
		n++
		if walk.part(); !walk.next() {
			break
		}
	}
	return n
}

func (r *Reader) skip() {
	number, kind := protowire.DecodeTag(r.tag)
	if number < protowire.MinValidNumber || number > protowire.MaxValidNumber {
		r.fail("a field of number %d", number)
		return
	}
	n := protowire.ConsumeFieldValue(number, kind, unsafe.Slice(unsafe.StringData(r.rest), len(r.rest)))
	if n < 0 {
		r.fail("field %d: %w", number, protowire.ParseError(n))
		return
	}
	r.rest = r.rest[n:]
}

// body reads the text of a body. A message has either a text or the place of a stored body.
func (r *Reader) body(before message.Body) message.Body {
	text := r.text()
	if before.Stored() && text != "" {
		r.fail("a body beside a stored one")
		return message.Body{}
	}
	if before.Stored() {
		return before
	}
	return message.NewBody(text)
}

// bodyOf returns the stored body that s describes.
func (r *Reader) bodyOf(before message.Body, s *StoredBody) message.Body {
	if s.Segment == 0 || s.Length == 0 || !before.Stored() && before.Len() > 0 {
		r.fail("a stored body that cannot be one")
		return message.Body{}
	}
	return message.StoredBody(message.Place{Segment: s.Segment, Offset: s.Offset}, s.Length, s.Digest)
}

// storedBody describes the place of a stored body.
func storedBody(body message.Body) StoredBody {
	at := body.Place()
	return StoredBody{Segment: at.Segment, Offset: at.Offset, Length: uint32(body.Len()), Digest: body.Digest()}
}

func sizeNumbers[N ~uint64](list []N) (n int) {
	for _, v := range list {
		n += protowire.SizeVarint(uint64(v))
	}
	return n
}

func appendNumbers[N ~uint64](b []byte, list []N) []byte {
	b = protowire.AppendVarint(b, uint64(sizeNumbers(list)))
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

func readNumbers[N ~uint64](r *Reader, list []N) []N {
	packed := r.nested()
	for packed.rest != "" {
		list = append(list, N(packed.number()))
	}
	if packed.err != nil {
		r.err = packed.err
	}
	return list
}
