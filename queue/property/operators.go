package property

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
)

// TextBytesMax bounds a string that an operator makes. It is the limit of Azure Service Bus for a
// property.
const TextBytesMax = 32 << 10

// Fault is a reason why an evaluation failed.
type Fault uint8

// The faults. OK is none.
const (
	OK Fault = iota
	DivisionByZero
	Overflow
	TextTooLong
	TooMuchWork
	WrongType
)

var faultTexts = [...]string{
	"", "a division by zero", "a result beyond the range of its type", "a string of more than 32 KiB", "too many steps",
	"a value that the property cannot have",
}

// String describes the fault.
func (f Fault) String() string {
	if int(f) < len(faultTexts) {
		return faultTexts[f]
	}
	return "invalid"
}

// Order is the result of a comparison.
type Order uint8

// The orders.
const (
	Incomparable Order = iota // an operand is null or missing, or the kinds cannot be compared
	Less
	Same
	Greater
	Different // unequal without an order
)

// Compare compares two values.
func Compare(a, b Value) Order {
	x, y := a.Kind(), b.Kind()
	switch {
	case x == KindString && y == KindString:
		return orderOf(strings.Compare(a.text, b.text))
	case x == KindLong && y == KindLong, x == KindTime && y == KindTime, x == KindDuration && y == KindDuration:
		return orderOf(cmp.Compare(int64(a.low), int64(b.low)))
	case isNumber(x) && isNumber(y):
		if x == KindDouble || y == KindDouble {
			return compareDoubles(a.asDouble(), b.asDouble())
		}
		return compareDecimals(a.asDecimal(), b.asDecimal())
	case x == KindBoolean && y == KindBoolean, x == KindGUID && y == KindGUID:
		if a.low == b.low && a.high == b.high {
			return Same
		}
		return Different
	}
	return Incomparable
}

func orderOf(n int) Order {
	switch {
	case n < 0:
		return Less
	case n > 0:
		return Greater
	}
	return Same
}

// Ordered reports whether values of a kind have an order.
func Ordered(k Kind) bool {
	return isNumber(k) || k == KindString || k == KindTime || k == KindDuration
}

func isNumber(k Kind) bool { return k == KindLong || k == KindDouble || k == KindDecimal }

// asDouble converts a number, rounding to the nearest double.
func (v Value) asDouble() uint64 {
	switch v.Kind() {
	case KindDouble:
		return v.low
	case KindLong:
		return doubleOfLong(int64(v.low))
	default:
		nearest, _ := doubleOfText(decimalText(v.asDecimal()))
		return nearest
	}
}

// Operator is an arithmetic operator.
type Operator uint8

// The operators.
const (
	Plus Operator = iota
	Minus
	Times
	Over
	Modulo
)

// Apply applies an operator. The result is none if the operator does not take the kinds.
func Apply(o Operator, a, b Value) (Value, Fault) {
	x, y := a.Kind(), b.Kind()
	switch {
	case x <= KindNull || y <= KindNull:
		return Value{}, OK
	case x == KindLong && y == KindLong:
		return applyLongs(o, int64(a.low), int64(b.low))
	case isNumber(x) && isNumber(y):
		if x == KindDouble || y == KindDouble {
			return DoubleBits(applyDoubles(o, a.asDouble(), b.asDouble())), OK
		}
		return applyDecimals(o, a.asDecimal(), b.asDecimal())
	case o == Plus && (x == KindString || y == KindString) && x != KindBinary && y != KindBinary:
		return join(a.Text(), b.Text())
	case o == Plus && x == KindDuration && y == KindTime:
		return applyTicks(o, b, a)
	case (o == Plus || o == Minus) && (x == KindTime || x == KindDuration) && y == KindDuration,
		o == Minus && x == KindTime && y == KindTime:
		return applyTicks(o, a, b)
	}
	return Value{}, OK
}

func join(a, b string) (Value, Fault) {
	if len(a)+len(b) > TextBytesMax {
		return Value{}, TextTooLong
	}
	return String(a + b), OK
}

func applyLongs(o Operator, a, b int64) (Value, Fault) {
	result, ok := int64(0), true
	switch o {
	case Plus:
		result, ok = addLongs(a, b)
	case Minus:
		result = a - b
		ok = (a^b)&(a^result) >= 0
	case Times:
		result, ok = multiplyLongs(a, b)
	default:
		if b == 0 {
			return Value{}, DivisionByZero
		}
		if o == Modulo {
			result = a % b
			break
		}
		result, ok = a/b, a != math.MinInt64 || b != -1
	}
	if !ok {
		return Value{}, Overflow
	}
	return Long(result), OK
}

func addLongs(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (a^sum)&(b^sum) >= 0
}

func multiplyLongs(a, b int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		return int64(-low), high == 0 && low <= 1<<63
	}
	return int64(low), high == 0 && low < 1<<63
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func applyDoubles(o Operator, a, b uint64) uint64 {
	switch o {
	case Plus:
		return addDoubles(a, b)
	case Minus:
		return addDoubles(a, b^signBit)
	case Times:
		return multiplyDoubles(a, b)
	case Over:
		return divideDoubles(a, b)
	default:
		return doubleRemainder(a, b)
	}
}

func applyDecimals(o Operator, a, b Value) (Value, Fault) {
	switch o {
	case Plus:
		return addDecimals(a, b, 1)
	case Minus:
		return addDecimals(a, b, -1)
	case Times:
		return multiplyDecimals(a, b)
	case Over:
		return divideDecimals(a, b)
	default:
		return decimalRemainder(a, b)
	}
}

// applyTicks adds or subtracts a duration, or subtracts times.
func applyTicks(o Operator, a, b Value) (Value, Fault) {
	change := int64(b.low)
	if o == Minus {
		if change == math.MinInt64 {
			return Value{}, Overflow
		}
		change = -change
	}
	ticks, ok := addLongs(int64(a.low), change)
	if a.Kind() == KindTime && b.Kind() == KindTime {
		return Duration(ticks), OK
	}
	if !ok || a.Kind() == KindTime && (ticks < 0 || ticks > timeTicksMax) {
		return Value{}, Overflow
	}
	a.low = uint64(ticks)
	return a, OK
}

// Negate returns -v. The result is none if v is neither a number nor a duration.
func Negate(v Value) (Value, Fault) {
	switch v.Kind() {
	case KindLong, KindDuration:
		if int64(v.low) == math.MinInt64 {
			return Value{}, Overflow
		}
		if v.Kind() == KindLong {
			v.typ = TypeLong
		}
		v.low = -v.low
	case KindDouble:
		v.typ = TypeDouble
		v.low ^= signBit
	case KindDecimal:
		v = v.asDecimal()
		v.negative = !v.negative && v.low|v.high != 0
	default:
		return Value{}, OK
	}
	return v, OK
}

// Signed reports whether the operator + of one operand takes v.
func Signed(v Value) bool { return isNumber(v.Kind()) || v.Kind() == KindDuration }
