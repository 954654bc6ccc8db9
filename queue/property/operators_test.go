package property

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var bounds = []int64{
	0, 1, -1, 2, 3, 10, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1,
	1 << 32, -(1 << 32), 3037000500,
}

func drawnLong(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64(), rapid.SampledFrom(bounds), rapid.Int64Range(-20, 20)).Draw(t, "long")
}

// TestIntegers compares integers of 64 bits with integers of any size.
func TestIntegers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawnLong(t), drawnLong(t)
		x, y, z := big.NewInt(a), big.NewInt(b), new(big.Int)
		for o := Plus; o <= Modulo; o++ {
			got, fault := Apply(o, Long(a), Long(b))
			if b == 0 && o >= Over {
				if fault != DivisionByZero {
					t.Fatalf("%d %d 0: %v", a, o, fault)
				}
				continue
			}
			switch o {
			case Plus:
				z.Add(x, y)
			case Minus:
				z.Sub(x, y)
			case Times:
				z.Mul(x, y)
			case Over:
				z.Quo(x, y)
			case Modulo:
				z.Rem(x, y)
			}
			if want := z.IsInt64(); want != (fault == OK) || want && got != Long(z.Int64()) {
				t.Fatalf("%d operator %d %d is %v (%v), want %v", a, o, b, got.Text(), fault, z)
			}
		}
		if got, fault := Negate(Long(a)); (fault == OK) == (a == math.MinInt64) || fault == OK && got.Long() != -a {
			t.Fatalf("-(%d) is %v, %v", a, got.Text(), fault)
		}
	})
}

// drawnDecimal draws a decimal from all of their range, more often from few digits.
func drawnDecimal(t *rapid.T) Value {
	n := wide{low: rapid.Uint64().Draw(t, "low")}
	switch rapid.IntRange(0, 3).Draw(t, "size") {
	case 0:
		n.low %= 1000
	case 1:
		n.high = rapid.Uint64Range(0, 1<<32-1).Draw(t, "high")
	case 2:
		n = wide{1<<32 - 1, math.MaxUint64}
	}
	v, ok := decimalOf(rapid.Bool().Draw(t, "negative"), n, -rapid.IntRange(0, decimalPlacesMax).Draw(t, "places"))
	if !ok {
		t.Fatalf("%v is no decimal", n)
	}
	return v
}

func ratOf(t *rapid.T, v Value) *big.Rat {
	r, ok := new(big.Rat).SetString(v.Text())
	if !ok {
		t.Fatalf("%q is no number", v.Text())
	}
	return r
}

// TestDecimals compares results with fractions: the order is exact, and a result is nearer to the
// exact one than the next decimals with as many places.
func TestDecimals(t *testing.T) {
	t.Parallel()
	// Larger coefficients are rounded to one that is too large.
	limit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), decimalBits))
	limit.Sub(limit, big.NewRat(1, 2))
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawnDecimal(t), drawnDecimal(t)
		x, y := ratOf(t, a), ratOf(t, b)
		if got, want := Compare(a, b), orderOf(x.Cmp(y)); got != want {
			t.Fatalf("%s against %s: %v, want %v", a.Text(), b.Text(), got, want)
		}
		if again, ok := parseDecimal(a.Text()); !ok || Compare(a, again) != Same || again.scale != a.scale {
			t.Fatalf("%q is read as %q", a.Text(), again.Text())
		}
		for o := Plus; o <= Modulo; o++ {
			got, fault := Apply(o, a, b)
			z := new(big.Rat)
			switch {
			case o >= Over && y.Sign() == 0:
				if fault != DivisionByZero {
					t.Fatalf("%s operator %d 0: %v", a.Text(), o, fault)
				}
				continue
			case o == Plus:
				z.Add(x, y)
			case o == Minus:
				z.Sub(x, y)
			case o == Times:
				z.Mul(x, y)
			case o == Over:
				z.Quo(x, y)
			default:
				quotient := new(big.Rat).Quo(x, y)
				whole := new(big.Int).Quo(quotient.Num(), quotient.Denom())
				z.Sub(x, z.Mul(y, new(big.Rat).SetInt(whole)))
			}
			size := new(big.Rat).Abs(z)
			if fault == Overflow {
				if size.Cmp(limit) < 0 {
					t.Fatalf("%s operator %d %s overflows, want %s", a.Text(), o, b.Text(), z.FloatString(30))
				}
				continue
			}
			if got.Type() != TypeDecimal || fault != OK {
				t.Fatalf("%s operator %d %s is %v, %v", a.Text(), o, b.Text(), got.Type(), fault)
			}
			off := new(big.Rat).Sub(ratOf(t, got), z)
			places := decimalPlacesMax // the most that a decimal of this size has
			for new(big.Rat).Mul(size, new(big.Rat).SetInt(tenTo(places))).Cmp(limit) >= 0 {
				places--
			}
			if unit := new(big.Rat).SetFrac(big.NewInt(1), tenTo(places)); off.Abs(off).Cmp(unit.Mul(unit, big.NewRat(1, 2))) > 0 {
				t.Fatalf("%s operator %d %s is %s, want %s", a.Text(), o, b.Text(), got.Text(), z.FloatString(30))
			}
		}
	})
}

// TestOperators has the documented decisions.
func TestOperators(t *testing.T) {
	t.Parallel()
	double := func(f float64) Value { return DoubleBits(math.Float64bits(f)) }
	decimal := func(text string) Value {
		v, ok := parseDecimal(text)
		if !ok {
			t.Fatalf("%q is no decimal", text)
		}
		return v
	}
	at := func(text string) Value {
		v, ok := parseTime(text)
		if !ok {
			t.Fatalf("%q is no time", text)
		}
		return v
	}
	id := GUID([16]byte{0x12, 0x34, 15: 0xff})
	cases := []struct {
		a    Value
		o    Operator
		b    Value
		want string // kind and text, or the fault
	}{
		{Long(7), Over, Long(2), "an integer 3"},
		{Long(-7), Over, Long(2), "an integer -3"},
		{Long(-7), Modulo, Long(2), "an integer -1"},
		{Long(7), Over, double(2), "a double 3.5"},
		{double(1), Over, double(0), "a double Infinity"},
		{double(-1), Over, double(0), "a double -Infinity"},
		{double(0), Over, double(0), "a double NaN"},
		{double(5.5), Modulo, Long(2), "a double 1.5"},
		{double(5.5), Modulo, Long(0), "a double NaN"},
		{double(0.1), Plus, double(0.2), "a double 0.30000000000000004"},
		{Long(1 << 53), Plus, double(1), "a double 9.007199254740992E+15"},
		{decimal("0.1"), Plus, decimal("0.2"), "a decimal 0.3"},
		{decimal("1.0"), Plus, decimal("1.0"), "a decimal 2.0"},
		{decimal("19.99"), Plus, double(0.01), "a double 20"},
		{decimal("2.50"), Times, Long(2), "a decimal 5.00"},
		{decimal("1"), Over, decimal("3"), "a decimal 0.3333333333333333333333333333"},
		{decimal("2"), Over, decimal("3"), "a decimal 0.6666666666666666666666666667"},
		{decimal("10"), Over, decimal("4"), "a decimal 2.5"},
		{decimal("79228162514264337593543950335"), Plus, decimal("0.4"), "a decimal 79228162514264337593543950335"},
		{decimal("7922816251426433759354395033.4"), Plus, decimal("0.05"), "a decimal 7922816251426433759354395033.4"},
		{decimal("7922816251426433759354395033.3"), Plus, decimal("0.05"), "a decimal 7922816251426433759354395033.4"},
		{decimal("79228162514264337593543950335"), Plus, Long(1), Overflow.String()},
		{ULong(math.MaxUint64), Plus, Long(1), "a decimal 18446744073709551616"},
		{Long(1), Plus, ULong(5), "an integer 6"},
		{String("n"), Plus, Long(1), "a string n1"},
		{Long(1), Plus, String("n"), "a string 1n"},
		{String("a"), Plus, Boolean(true), "a string aTrue"},
		{String("s-"), Plus, id, "a string s-12340000-0000-0000-0000-0000000000ff"},
		{String("a"), Minus, String("a"), "nothing "},
		{String("a"), Plus, Binary("a"), "nothing "},
		{String("a"), Plus, Null, "nothing "},
		{Value{}, Plus, Long(1), "nothing "},
		{Boolean(true), Plus, Long(1), "nothing "},
		{at("2026-01-02T00:00:01.5Z"), Minus, at("2026-01-01T00:00:00Z"), "a duration 1.00:00:01.5000000"},
		{at("2026-01-02T00:00:00Z"), Plus, Duration(1), "a date and time 2026-01-02T00:00:00.0000001Z"},
		{Duration(-ticksPerDay), Plus, at("2026-01-02T00:00:00Z"), "a date and time 2026-01-01T00:00:00.000Z"},
		{at("2026-01-02T00:00:00Z"), Plus, at("2026-01-02T00:00:00Z"), "nothing "},
		{at("9999-12-31T23:59:59Z"), Plus, Duration(ticksPerDay), Overflow.String()},
		{at("0001-01-01T00:00:00Z"), Minus, Duration(1), Overflow.String()},
		{Duration(math.MaxInt64), Plus, Duration(1), Overflow.String()},
		{Duration(1), Minus, Duration(math.MinInt64), Overflow.String()},
		{Duration(1), Times, Long(2), "nothing "},
	}
	for _, c := range cases {
		got, fault := Apply(c.o, c.a, c.b)
		text := got.Kind().String() + " " + got.Text()
		if fault != OK {
			text = fault.String()
		}
		if text != c.want {
			t.Errorf("%s operator %d %s is %s, want %s", c.a.Text(), c.o, c.b.Text(), text, c.want)
		}
	}
	orders := []struct {
		a, b Value
		want Order
	}{
		{Long(1), double(1), Same},
		{Long(1), double(1.5), Less},
		{decimal("19.99"), double(19.99), Same},
		{decimal("1.50"), decimal("1.5"), Same},
		{decimal("-0"), decimal("0.00"), Same},
		{decimal("2"), Long(3), Less},
		{ULong(math.MaxUint64), Long(math.MaxInt64), Greater},
		{double(math.NaN()), double(math.NaN()), Different},
		{double(0), double(math.Copysign(0, -1)), Same},
		{Long(math.MaxInt64), double(1 << 63), Same},
		{String("a"), String("B"), Greater},
		{String("a"), String("ab"), Less},
		{String("é"), String("z"), Greater},
		{String("1"), Long(1), Incomparable},
		{Boolean(true), Boolean(true), Same},
		{Boolean(true), Boolean(false), Different},
		{Boolean(true), Long(1), Incomparable},
		{id, id, Same},
		{id, GUID([16]byte{}), Different},
		{id, String(id.Text()), Incomparable},
		{Binary("a"), Binary("a"), Incomparable},
		{Null, Null, Incomparable},
		{Value{}, Value{}, Incomparable},
		{at("2026-01-02T00:00:00Z"), at("2026-01-02T01:00:00+01:00"), Same},
		{Duration(1), Duration(2), Less},
		{at("2026-01-02T00:00:00Z"), Duration(2), Incomparable},
		{Value{typ: TypeSymbol, text: "a"}, String("a"), Same},
	}
	for _, c := range orders {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("%s %s against %s %s: %d, want %d", c.a.Type(), c.a.Text(), c.b.Type(), c.b.Text(), got, c.want)
		}
	}
	if _, fault := Apply(Plus, String(string(make([]byte, TextBytesMax))), String("a")); fault != TextTooLong {
		t.Errorf("a long string: %v", fault)
	}
}

func TestNegate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Long(1), "-1"},
		{Integer(TypeUByte, 200), "-200"},
		{DoubleBits(0), "-0"},
		{Duration(ticksPerSecond), "-00:00:01"},
		{ULong(1 << 63), "-9223372036854775808"},
		{String("a"), ""},
		{Boolean(true), ""},
		{Value{typ: TypeDecimal}, "0"},
	} {
		if got, fault := Negate(c.v); got.Text() != c.want || fault != OK {
			t.Errorf("-(%s) is %q (%v), want %q", c.v.Text(), got.Text(), fault, c.want)
		}
	}
}

// A compiler may fuse a multiplication and an addition unless each is rounded by itself.
func TestDoublesAreRounded(t *testing.T) {
	t.Parallel()
	a := math.Float64bits(1 + 0x1p-52)
	product := multiplyDoubles(a, a)
	if got := math.Float64frombits(addDoubles(product, math.Float64bits(-1-0x1p-51))); got != 0 {
		t.Errorf("the rest is %g: the product was not rounded", got)
	}
}
