package filter

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestDecimal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-", "+", ".", "-.", "e5", "1e", "1e+", "1.2.3", "1x", "0x1", "1_000", "1e1.5", " 1", "--1", "NaN",
		"1ee1", "٣"} {
		if d, ok := parseDecimal(text); ok {
			t.Errorf("%q is %+v", text, d)
		}
	}
	// Each is greater than the previous one.
	ascending := []string{
		"-1e999999999999999999999", "-1e999999", "-123456789012345678901234567890.2", "-123456789012345678901234567890.1", "-10", "-9.99",
		"-1.1", "-1",
		"-0.10001", "-0.1", "-1e-400", "-1e-999999999999999999999", "0", "1e-999999999999999999999", "1e-400", "0.00001", "0.0001",
		"0.00011", ".1", "0.1000000000000000000000000001",
		"1", "1.000001", "1.1", "9", "9.99", "10", "10.1", "11", "99", "100", "101", "1e9", "1000000000.00001", "1e38", "1e38000",
	}
	for i, a := range ascending {
		for j, b := range ascending {
			d, ok := parseDecimal(a)
			e, both := parseDecimal(b)
			if !ok || !both || d.compare(e) != cmp.Compare(i, j) {
				t.Errorf("%s against %s: %d (%v, %v)", a, b, d.compare(e), d, e)
			}
		}
	}
}

// randomNumber returns a number in one of the accepted forms.
func randomNumber(r *rand.Rand) string {
	text := strconv.Itoa(r.IntN(3000))
	if r.IntN(2) == 0 {
		text = strconv.Itoa(r.IntN(3))
	}
	if r.IntN(2) == 0 {
		text += "." + strings.Repeat("0", r.IntN(3)) + strconv.Itoa(r.IntN(20)) + strings.Repeat("0", r.IntN(3))
	}
	if r.IntN(3) == 0 {
		text += "e" + strconv.Itoa(r.IntN(9)-4)
	}
	if r.IntN(3) == 0 {
		text = "-" + text
	}
	return text
}

func TestDecimalAgainstBig(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		a, b := randomNumber(r), randomNumber(r)
		d, ok := parseDecimal(a)
		e, both := parseDecimal(b)
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if !ok || !both || d.compare(e) != x.Cmp(y) {
			t.Fatalf("%s against %s: %d", a, b, d.compare(e))
		}
	}
}
