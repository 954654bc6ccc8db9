package codec

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/fsm/format"
)

// The three commands that every message passes are encoded and decoded by hand:
// the protobuf library took a quarter of the time a replica needs to apply an
// entry, most of it for allocations. The bytes are those of the library, and
// what is accepted is what the library accepts; FuzzSendMessages,
// FuzzReceiveMessages and FuzzDeleteMessages compare the two.

// Sizes and parts of fields. Every field of the three messages has a number below
// 16, hence a tag of one byte.
const (
	tagBytes  = 1
	flagBytes = tagBytes + 1
)

func textFieldBytes(text string) int {
	return tagBytes + protowire.SizeBytes(len(text))
}

func appendTextField(dst []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text)
}

// appendText leaves out empty text.
func appendText(dst []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return dst
	}
	return appendTextField(dst, number, text)
}

// appendFlag leaves out false.
func appendFlag(dst []byte, number protowire.Number, flag bool) []byte {
	if !flag {
		return dst
	}
	return append(protowire.AppendTag(dst, number, protowire.VarintType), 1)
}

func appendNumberField(dst []byte, number protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), uint64(value))
}

// fields walks over the fields of one message.
type fields struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	err    error
	// shared ends in the same bytes as rest does, and has all texts. Empty: each text is
	// a copy.
	shared string
}

// next reads the tag of the next field; false is the end or an error. The value
// must be taken by one of the methods below, or skipped.
func (f *fields) next() bool {
	if len(f.rest) == 0 || f.err != nil {
		return false
	}
	number, kind, n := protowire.ConsumeTag(f.rest)
	if n < 0 || number > protowire.MaxValidNumber {
		f.fail(n)
		return false
	}
	f.number, f.kind, f.rest = number, kind, f.rest[n:]
	return true
}

// is reports whether the field has this number and form; a known number in
// another form is skipped like an unknown one.
func (f *fields) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

// bytes is part of the message: copy what is kept.
func (f *fields) bytes() []byte {
	value, n := protowire.ConsumeBytes(f.rest)
	if n < 0 {
		f.fail(n)
		return nil
	}
	f.rest = f.rest[n:]
	return value
}

func (f *fields) text() string {
	value := f.bytes()
	if f.shared == "" {
		return string(value)
	}
	return f.part(len(value))
}

// part is what shared has of the last n bytes that were read.
func (f *fields) part(n int) string {
	if f.shared == "" {
		return ""
	}
	end := len(f.shared) - len(f.rest)
	return f.shared[end-n : end]
}

// message is a message in the present one. Its texts are where those of this one are.
func (f *fields) message() fields {
	value := f.bytes()
	return fields{rest: value, shared: f.part(len(value)), err: f.err}
}

// messageOfItsOwn is a message whose texts share a copy of it.
func (f *fields) messageOfItsOwn() fields {
	value := f.bytes()
	return fields{rest: value, shared: string(value), err: f.err}
}

func (f *fields) varint() uint64 {
	value, n := protowire.ConsumeVarint(f.rest)
	if n < 0 {
		f.fail(n)
		return 0
	}
	f.rest = f.rest[n:]
	return value
}

func (f *fields) skip() {
	n := protowire.ConsumeFieldValue(f.number, f.kind, f.rest)
	if n < 0 {
		f.fail(n)
		return
	}
	f.rest = f.rest[n:]
}

func (f *fields) fail(code int) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: field %d: %w", format.ErrMalformed, f.number, protowire.ParseError(min(code, -1)))
	}
}

// count is how many fields of bytes a message has of a number. Damage is left to whoever
// decodes it.
func count(message []byte, number protowire.Number) (n int) {
	for f := (fields{rest: message}); f.next(); f.skip() {
		if f.is(number, protowire.BytesType) {
			n++
		}
	}
	return n
}
