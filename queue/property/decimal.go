package property

import (
	"math/big"
	"math/bits"
	"strings"
)

// decimalPlacesMax and decimalBits bound a decimal, as in .NET.
const (
	decimalPlacesMax = 28
	decimalBits      = 96
)

// wide is an unsigned integer of 128 bits.
type wide struct{ high, low uint64 }

// powersOfTen has the powers up to decimalPlacesMax.
var powersOfTen = func() (powers [decimalPlacesMax + 1]wide) {
	powers[0] = wide{low: 1}
	for i := 1; i < len(powers); i++ {
		powers[i], _ = powers[i-1].times10()
	}
	return powers
}()

// times10 multiplies by ten. It is not ok beyond decimalBits.
func (w wide) times10() (product wide, ok bool) {
	carry, low := bits.Mul64(w.low, 10)
	product = wide{w.high*10 + carry, low}
	return product, product.high>>(decimalBits-64) == 0
}

// divide10 divides by ten.
func (w wide) divide10() (quotient wide, remainder uint64) {
	high, remainder := bits.Div64(0, w.high, 10)
	low, remainder := bits.Div64(remainder, w.low, 10)
	return wide{high, low}, remainder
}

// times returns the 256 bits of a product, the highest word first.
func (w wide) times(x wide) (product [4]uint64) {
	h0, l0 := bits.Mul64(w.low, x.low)
	h1, l1 := bits.Mul64(w.low, x.high)
	h2, l2 := bits.Mul64(w.high, x.low)
	h3, l3 := bits.Mul64(w.high, x.high)
	var carry, further uint64
	product[3] = l0
	product[2], carry = bits.Add64(h0, l1, 0)
	product[1], further = bits.Add64(h1, h2, carry)
	product[0] = h3 + further
	product[2], carry = bits.Add64(product[2], l2, 0)
	product[1], further = bits.Add64(product[1], l3, carry)
	product[0] += further
	return product
}

// decimalOf returns the decimal coefficient * 10^exponent, with ok false if .NET cannot hold it
// exactly.
func decimalOf(negative bool, coefficient wide, exponent int) (v Value, ok bool) {
	if coefficient == (wide{}) {
		exponent = min(max(exponent, -decimalPlacesMax), 0)
	}
	for exponent > 0 {
		if coefficient, ok = coefficient.times10(); !ok {
			return Value{}, false
		}
		exponent--
	}
	for exponent < -decimalPlacesMax || coefficient.high>>(decimalBits-64) != 0 {
		shorter, remainder := coefficient.divide10()
		if remainder != 0 || exponent >= 0 {
			return Value{}, false
		}
		coefficient, exponent = shorter, exponent+1
	}
	return Value{typ: TypeDecimal, scale: uint8(-exponent), negative: negative, low: coefficient.low, high: coefficient.high}, true
}

// asDecimal converts an integer.
func (v Value) asDecimal() Value {
	switch {
	case v.typ == TypeDecimal:
		return v
	case v.typ == TypeULong:
		return Value{typ: TypeDecimal, low: v.low}
	case int64(v.low) < 0:
		return Value{typ: TypeDecimal, negative: true, low: -v.low}
	}
	return Value{typ: TypeDecimal, low: v.low}
}

func compareDecimals(a, b Value) Order {
	zero := a.low|a.high|b.low|b.high == 0
	if a.negative != b.negative && !zero {
		if a.negative {
			return Less
		}
		return Greater
	}
	if a.negative {
		a, b = b, a
	}
	x := wide{a.high, a.low}.times(powersOfTen[max(b.scale, a.scale)-a.scale])
	y := wide{b.high, b.low}.times(powersOfTen[max(b.scale, a.scale)-b.scale])
	for i := range x {
		switch {
		case x[i] < y[i]:
			return Less
		case x[i] > y[i]:
			return Greater
		}
	}
	return Same
}

var (
	bigTen        = big.NewInt(10)
	bigDecimalEnd = new(big.Int).Lsh(big.NewInt(1), decimalBits)
)

// coefficient returns the signed coefficient of a decimal.
func (v Value) coefficient() *big.Int {
	n := new(big.Int).SetUint64(v.high)
	n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(v.low))
	if v.negative {
		n.Neg(n)
	}
	return n
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(bigTen, big.NewInt(int64(n)), nil) }

// scaled multiplies n by a power of ten.
func scaled(n *big.Int, places int) *big.Int { return n.Mul(n, tenTo(places)) }

// rounded returns numerator / denominator / 10^places as a decimal. It rounds half to even, and to
// as few places as necessary.
func rounded(numerator, denominator *big.Int, places int) (Value, Fault) {
	negative := numerator.Sign()*denominator.Sign() < 0
	numerator.Abs(numerator)
	denominator = new(big.Int).Abs(denominator)
	var quotient, remainder big.Int
	for {
		if places <= decimalPlacesMax {
			quotient.QuoRem(numerator, denominator, &remainder)
			half := remainder.Lsh(&remainder, 1).Cmp(denominator)
			if half > 0 || half == 0 && quotient.Bit(0) == 1 {
				quotient.Add(&quotient, big.NewInt(1))
			}
			if quotient.Cmp(bigDecimalEnd) < 0 {
				break
			}
		}
		if places == 0 {
			return Value{}, Overflow
		}
		denominator.Mul(denominator, bigTen)
		places--
	}
	low := new(big.Int).And(&quotient, new(big.Int).SetUint64(^uint64(0))).Uint64()
	high := quotient.Rsh(&quotient, 64).Uint64()
	return Value{typ: TypeDecimal, scale: uint8(places), negative: negative && low|high != 0, low: low, high: high}, OK
}

// addDecimals adds b, or subtracts it if sign is negative.
func addDecimals(a, b Value, sign int64) (Value, Fault) {
	places := int(max(a.scale, b.scale))
	x, y := scaled(a.coefficient(), places-int(a.scale)), scaled(b.coefficient(), places-int(b.scale))
	return rounded(x.Add(x, y.Mul(y, big.NewInt(sign))), big.NewInt(1), places)
}

func multiplyDecimals(a, b Value) (Value, Fault) {
	x := a.coefficient()
	return rounded(x.Mul(x, b.coefficient()), big.NewInt(1), int(a.scale+b.scale))
}

// divideDecimals removes zeros at the end of the quotient, which has no natural scale.
func divideDecimals(a, b Value) (Value, Fault) {
	if b.low|b.high == 0 {
		return Value{}, DivisionByZero
	}
	x := scaled(a.coefficient(), decimalPlacesMax+int(b.scale))
	y := scaled(b.coefficient(), int(a.scale))
	v, fault := rounded(x, y, decimalPlacesMax)
	for fault == OK && v.scale > 0 {
		shorter, remainder := wide{v.high, v.low}.divide10()
		if remainder != 0 {
			break
		}
		v.scale, v.high, v.low = v.scale-1, shorter.high, shorter.low
	}
	return v, fault
}

// decimalRemainder has the sign of a.
func decimalRemainder(a, b Value) (Value, Fault) {
	if b.low|b.high == 0 {
		return Value{}, DivisionByZero
	}
	places := int(max(a.scale, b.scale))
	x, y := scaled(a.coefficient(), places-int(a.scale)), scaled(b.coefficient(), places-int(b.scale))
	return rounded(x.Rem(x, y), big.NewInt(1), places)
}

// decimalText returns all decimal places: 2.50.
func decimalText(v Value) string {
	var digits [40]byte
	at := len(digits)
	for n, places := (wide{v.high, v.low}), int(v.scale); n != (wide{}) || places >= 0; places-- {
		var digit uint64
		n, digit = n.divide10()
		at--
		digits[at] = byte('0' + digit)
		if places == 1 {
			at--
			digits[at] = '.'
		}
	}
	if v.negative {
		at--
		digits[at] = '-'
	}
	return string(digits[at:])
}

// parseDecimal reads a number without an exponent.
func parseDecimal(text string) (v Value, ok bool) {
	unsigned, negative := strings.CutPrefix(text, "-")
	whole, places, hasPoint := strings.Cut(unsigned, ".")
	if whole == "" || hasPoint && places == "" {
		return Value{}, false
	}
	var n wide
	for _, c := range []byte(whole + places) {
		if c < '0' || c > '9' {
			return Value{}, false
		}
		if n, ok = n.times10(); !ok {
			return Value{}, false
		}
		var carry uint64
		n.low, carry = bits.Add64(n.low, uint64(c-'0'), 0)
		if n.high += carry; n.high>>(decimalBits-64) != 0 {
			return Value{}, false
		}
	}
	return decimalOf(negative, n, -len(places))
}
