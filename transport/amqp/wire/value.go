package wire

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Value is one encoded value, which Scan has checked. A nil Value is absent. Methods that read a
// value report false if it has another type.
type Value []byte

// Clone returns a copy that does not refer to the input.
func (v Value) Clone() Value { return bytes.Clone(v) }

// Kind returns the type. An absent value is Null.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Null
	}
	return kinds[v[0]]
}

// IsNull reports whether the value is null or absent.
func (v Value) IsNull() bool { return v.Kind() == Null }

// data returns the content of a value without constructor and size.
func (v Value) data() []byte {
	_, content := dataLength(v[0], v[1:])
	return v[1+content:]
}

// Bool reads a boolean.
func (v Value) Bool() (is, ok bool) {
	if v.Kind() != Boolean {
		return false, false
	}
	return v[0] == codeTrue || v[0] == codeBoolean && v[1] == 1, true
}

// Unsigned reads a ubyte, a ushort, a uint or a ulong.
func (v Value) Unsigned() (uint64, bool) {
	switch v.Kind() {
	case Ubyte, Ushort, Uint, Ulong:
		return v.number(), true
	}
	return 0, false
}

// number returns the bytes of a value of fixed width, at most eight.
func (v Value) number() uint64 {
	var n uint64
	for _, b := range v[1:] {
		n = n<<8 | uint64(b)
	}
	return n
}

// Signed reads a byte, a short, an int or a long.
func (v Value) Signed() (int64, bool) {
	switch v.Kind() {
	case Byte, Short, Int, Long:
		unused := 64 - 8*(len(v)-1)
		return int64(v.number()<<unused) >> unused, true //nolint:gosec // extends the sign
	}
	return 0, false
}

// Integer reads an integer of any type. It reports false for a ulong beyond the largest long.
func (v Value) Integer() (int64, bool) {
	if n, ok := v.Unsigned(); ok {
		return int64(n), n <= math.MaxInt64 //nolint:gosec // reported
	}
	return v.Signed()
}

// Float reads a float or a double.
func (v Value) Float() (float64, bool) {
	switch v.Kind() {
	case Float:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(v[1:]))), true
	case Double:
		return math.Float64frombits(binary.BigEndian.Uint64(v[1:])), true
	}
	return 0, false
}

// Timestamp reads a timestamp in Unix milliseconds.
func (v Value) Timestamp() (ms int64, ok bool) {
	if v.Kind() != Timestamp {
		return 0, false
	}
	return int64(v.number()), true //nolint:gosec // a two's complement number
}

// Char reads a char.
func (v Value) Char() (rune, bool) {
	if v.Kind() != Char {
		return 0, false
	}
	return rune(v.number()), true //nolint:gosec // four bytes
}

// UUID reads a UUID in the order of RFC 9562.
func (v Value) UUID() (id [16]byte, ok bool) {
	if v.Kind() != UUID {
		return id, false
	}
	return [16]byte(v[1:]), true
}

// Binary reads a binary value, without a copy.
func (v Value) Binary() ([]byte, bool) {
	if v.Kind() != Binary {
		return nil, false
	}
	return v.data(), true
}

// Text reads a string.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return string(v.data()), true
}

// Symbol reads a symbol.
func (v Value) Symbol() (string, bool) {
	if v.Kind() != Symbol {
		return "", false
	}
	return string(v.data()), true
}

// Is reports whether the value is a symbol or a string with this text.
func (v Value) Is(text string) bool {
	k := v.Kind()
	return (k == Symbol || k == String) && string(v.data()) == text
}

// Described splits a described value.
func (v Value) Described() (descriptor, value Value, ok bool) {
	if v.Kind() != Described {
		return nil, nil, false
	}
	n := 1 + length(v[1:])
	return v[1:n:n], v[n:], true
}

// Descriptor returns the code of a described value and the value without its descriptor. Known
// symbolic descriptors count as their codes.
func (v Value) Descriptor() (code uint64, value Value, ok bool) {
	descriptor, value, ok := v.Described()
	if !ok {
		return 0, nil, false
	}
	if descriptor.Kind() == Ulong {
		return descriptor.number(), value, true
	}
	if descriptor.Kind() != Symbol {
		return 0, value, false
	}
	code, ok = codes[string(descriptor.data())]
	return code, value, ok
}
