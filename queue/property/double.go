package property

import (
	"math"
	"strconv"
	"strings"
)

// This file has all floating-point arithmetic of the state. Each function does one operation of
// IEEE 754, rounded to nearest even, so that no compiler can fuse two of them. Outside of this file,
// a double is its bits.

func addDoubles(a, b uint64) uint64 {
	return canonicalNaN(math.Float64bits(float64(math.Float64frombits(a) + math.Float64frombits(b))))
}

func multiplyDoubles(a, b uint64) uint64 {
	return canonicalNaN(math.Float64bits(float64(math.Float64frombits(a) * math.Float64frombits(b))))
}

func divideDoubles(a, b uint64) uint64 {
	return canonicalNaN(math.Float64bits(float64(math.Float64frombits(a) / math.Float64frombits(b))))
}

// doubleRemainder returns the exact remainder of a truncating division.
func doubleRemainder(a, b uint64) uint64 {
	return canonicalNaN(math.Float64bits(math.Mod(math.Float64frombits(a), math.Float64frombits(b))))
}

const signBit = 1 << 63

// canonicalNaN replaces the bits of a NaN, which differ between processors.
func canonicalNaN(bits uint64) uint64 {
	if bits&^signBit > infinityBits {
		return nanBits
	}
	return bits
}

const (
	infinityBits = 0x7FF0_0000_0000_0000
	nanBits      = 0x7FF8_0000_0000_0000
)

func compareDoubles(a, b uint64) Order {
	switch x, y := math.Float64frombits(a), math.Float64frombits(b); {
	case x < y:
		return Less
	case x > y:
		return Greater
	case x == y:
		return Same
	}
	return Different
}

func doubleOfLong(n int64) uint64 { return math.Float64bits(float64(n)) }

// doubleOfText rounds a number to the nearest double. It is not ok if text is no number or beyond
// the range.
func doubleOfText(text string) (bits uint64, ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	return math.Float64bits(f), err == nil
}

// longOfDouble converts a double without a fraction.
func longOfDouble(bits uint64) (int64, bool) {
	f := math.Float64frombits(bits)
	if f < -(1<<63) || f >= 1<<63 || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// doubleOfFloat converts the bits of a float, exactly.
func doubleOfFloat(bits uint32) uint64 {
	return canonicalNaN(math.Float64bits(float64(math.Float32frombits(bits))))
}

// floatOfDouble rounds a double to a float; exact reports whether it did not change.
func floatOfDouble(bits uint64) (narrow uint32, exact bool) {
	f := math.Float64frombits(bits)
	return math.Float32bits(float32(f)), float64(float32(f)) == f || f != f
}

// doubleText returns the shortest text that is read as the same double, in the format of .NET:
// 0.5, 100, 1E+16, 1.5E-07.
func doubleText(bits uint64) string {
	f := math.Float64frombits(bits)
	switch {
	case f != f:
		return "NaN"
	case bits == infinityBits:
		return "Infinity"
	case bits == infinityBits|signBit:
		return "-Infinity"
	}
	text := strconv.FormatFloat(f, 'E', -1, 64)
	exponent, _ := strconv.Atoi(text[strings.IndexByte(text, 'E')+1:])
	if exponent >= -5 && exponent < 15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text
}

// DoubleLiteral reads a number with a point or an exponent. It is not ok beyond the range of a
// double.
func DoubleLiteral(text string) (v Value, ok bool) {
	bits, ok := doubleOfText(text)
	return DoubleBits(bits), ok
}
