package property

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDoubleText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{1, "1"},
		{2.5, "2.5"},
		{1e14, "100000000000000"},
		{1e15, "1E+15"},
		{1e-5, "0.00001"},
		{1.5e-7, "1.5E-07"},
		{-1.25e300, "-1.25E+300"},
		{math.Inf(1), "Infinity"},
		{math.Inf(-1), "-Infinity"},
		{math.NaN(), "NaN"},
		{math.MaxFloat64, "1.7976931348623157E+308"},
		{math.SmallestNonzeroFloat64, "5E-324"},
	} {
		if got := doubleText(math.Float64bits(c.f)); got != c.want {
			t.Errorf("%g is %q, want %q", c.f, got, c.want)
		}
	}
}

// TestTextsAreReadAgain converts values to strings and back.
func TestTextsAreReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawnValue(t)
		if slices.Contains([]Kind{KindNone, KindNull, KindBinary, KindString}, v.Kind()) {
			return
		}
		text, ok := Convert(v, TypeString)
		if !ok || text.Kind() != KindString || text.Str() != v.Text() {
			t.Fatalf("%s %q becomes %q (%v)", v.Type(), v.Text(), text.Str(), ok)
		}
		if v.Kind() == KindDouble && !isNumeral(v.Text()) || v == Duration(math.MinInt64) {
			return
		}
		again, ok := Convert(text, v.Type())
		if !ok || again != v {
			t.Fatalf("%s %q is read as %s %q (%v)", v.Type(), v.Text(), again.Type(), again.Text(), ok)
		}
	})
}

func TestConvert(t *testing.T) {
	t.Parallel()
	double := func(f float64) Value { return DoubleBits(math.Float64bits(f)) }
	for _, c := range []struct {
		v    Value
		to   Type
		want string // the text, or "no"
	}{
		{Long(5), TypeInt, "5"},
		{Long(1 << 40), TypeInt, "no"},
		{Long(-1), TypeUInt, "no"},
		{Long(-1), TypeULong, "no"},
		{double(5), TypeInt, "5"},
		{double(5.5), TypeInt, "no"},
		{double(1e30), TypeLong, "no"},
		{double(math.NaN()), TypeLong, "no"},
		{ULong(math.MaxUint64), TypeULong, "18446744073709551615"},
		{ULong(math.MaxUint64), TypeLong, "no"},
		{Long(5), TypeDouble, "5"},
		{Long(5), TypeString, "5"},
		{String("5"), TypeLong, "5"},
		{String("5.0"), TypeLong, "no"},
		{String("+5"), TypeLong, "no"},
		{String(" 5"), TypeLong, "no"},
		{String("0x5"), TypeLong, "no"},
		{String("1_0"), TypeLong, "no"},
		{String("1_0"), TypeDouble, "no"},
		{String("inf"), TypeDouble, "no"},
		{String("1e3"), TypeDouble, "1000"},
		{String("1e999"), TypeDouble, "no"},
		{double(0.1), TypeFloat, "no"},
		{double(0.5), TypeFloat, "0.5"},
		{String("true"), TypeBoolean, "True"},
		{String("yes"), TypeBoolean, "no"},
		{Long(1), TypeBoolean, "no"},
		{Boolean(true), TypeLong, "no"},
		{String("00:05:00"), TypeTimeSpan, "00:05:00"},
		{String("1.00:05:00.5"), TypeTimeSpan, "1.00:05:00.5000000"},
		{String("24:00:00"), TypeTimeSpan, "no"},
		{String("5"), TypeTimeSpan, "no"},
		{String("10675199.05:00:00"), TypeTimeSpan, "no"},
		{String("2026-01-02T03:04:05.1234567Z"), TypeDateTimeOffset, "2026-01-02T03:04:05.1234567Z"},
		{String("2026-01-02T03:04:05.1234567+01:00"), TypeDateTimeOffset, "2026-01-02T02:04:05.1234567Z"},
		{String("2026-01-02T03:04:05.1234567Z"), TypeTimestamp, "2026-01-02T03:04:05.123Z"},
		{String("2026"), TypeTimestamp, "no"},
		{String("0000-12-31T00:00:00Z"), TypeTimestamp, "no"},
		{String("2026-01-02T03:04:05+00:00"), TypeTimestamp, "2026-01-02T03:04:05.000Z"},
		{String("12345678-9ABC-DEF0-0123-456789abcdef"), TypeUUID, "12345678-9abc-def0-0123-456789abcdef"},
		{String("12345678-9abc-def0-0123-456789abcdeg"), TypeUUID, "no"},
		{String("12345678-9abc-def0-0123-456789abcde"), TypeUUID, "no"},
		{String("a"), TypeChar, "a"},
		{String("ab"), TypeChar, "no"},
		{String("é"), TypeSymbol, "no"},
		{Null, TypeLong, ""},
		{Binary("a"), TypeString, "no"},
		{Value{}, TypeString, "no"},
		{String("19.990"), TypeDecimal, "19.990"},
		{double(0.1), TypeDecimal, "0.1"},
		{String("1e5"), TypeDecimal, "no"},
		{Long(5), TypeTimestamp, "no"},
	} {
		got, ok := Convert(c.v, c.to)
		text := got.Text()
		if !ok {
			text = "no"
		}
		if text != c.want || ok && got.Type() != c.to && got != Null {
			t.Errorf("%s %q as %s is %s %q, want %q", c.v.Type(), c.v.Text(), c.to, got.Type(), text, c.want)
		}
	}
}
