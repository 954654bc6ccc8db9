package history

import "math/bits"

// value is a number from 0 to 4.4e12 in 16 bits, as a float of 5 bits exponent and 11 bits
// mantissa. It is exact up to 4095, and within 0.03 % above. Numbers are therefore whole: times
// in microseconds, and events per step instead of rates.
type value uint16

// missing is the value of a step without a sample.
const missing value = 1<<16 - 1

const (
	mantissaBits = 11
	mantissaOne  = 1 << mantissaBits // implicit first bit of all exponents but 0
	exponentMax  = 1<<(16-mantissaBits) - 1
	numberMax    = (2*mantissaOne - 2) << (exponentMax - 1)
)

// encode rounds a number to the nearest value.
func encode(n int64) value {
	switch {
	case n < 0:
		n = 0
	case n > numberMax:
		n = numberMax
	}
	u := uint64(n)
	if u < mantissaOne {
		return value(u)
	}
	exponent := bits.Len64(u) - mantissaBits // at least 1
	if shift := exponent - 1; shift > 0 {
		u = (u + 1<<(shift-1)) >> shift
		if u == 2*mantissaOne {
			u, exponent = mantissaOne, exponent+1
		}
	}
	return value(exponent<<mantissaBits | int(u-mantissaOne)) //nolint:gosec // below 1<<16, see numberMax
}

// decode returns the number; v is not missing.
func (v value) decode() int64 {
	exponent, mantissa := int(v>>mantissaBits), int64(v&(mantissaOne-1))
	if exponent == 0 {
		return mantissa
	}
	return (mantissa + mantissaOne) << (exponent - 1)
}
