package filter

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is a number of any size and precision. Numbers are compared digit by digit.
type decimal struct {
	digits   string // from the first nonzero digit to the last, perhaps with a point; "" is zero
	order    int64  // power of ten of the first digit
	negative bool
}

// exponentDigitsMax bounds exponents. Longer ones are clamped.
const exponentDigitsMax = 15

// parseDecimal reads a number of JSON or of a message attribute. The latter may begin with a plus
// sign or omit the digits on one side of the point.
func parseDecimal(text string) (d decimal, ok bool) {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		d.negative = text[0] == '-'
		text = text[1:]
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if d.order, ok = parseExponent(text[i+1:]); !ok {
			return decimal{}, false
		}
		text = text[:i]
	}
	whole, decimals, _ := strings.Cut(text, ".")
	if whole == "" && decimals == "" || !isDigits(whole) || !isDigits(decimals) {
		return decimal{}, false
	}
	if counting := strings.TrimLeft(whole, "0"); counting != "" {
		d.order += int64(len(counting)) - 1
		d.digits = strings.TrimRight(text[len(whole)-len(counting):], "0.")
		return d, true
	}
	counting := strings.TrimLeft(decimals, "0")
	if counting == "" {
		return decimal{}, true
	}
	d.order -= int64(len(decimals)-len(counting)) + 1
	d.digits = strings.TrimRight(counting, "0")
	return d, true
}

func parseExponent(text string) (int64, bool) {
	negative := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if text == "" || !isDigits(text) {
		return 0, false
	}
	if text = strings.TrimLeft(text, "0"); len(text) > exponentDigitsMax {
		text = strings.Repeat("9", exponentDigitsMax)
	}
	n, _ := strconv.ParseInt("0"+text, 10, 64)
	if negative {
		n = -n
	}
	return n, true
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// compare returns a number below, at or above zero if d is less than, equal to or greater than e.
func (d decimal) compare(e decimal) int {
	if order := cmp.Compare(d.sign(), e.sign()); order != 0 {
		return order
	}
	if d.negative {
		d, e = e, d
	}
	if order := cmp.Compare(d.order, e.order); order != 0 {
		return order
	}
	i, j := 0, 0
	for {
		i, j = pastPoint(d.digits, i), pastPoint(e.digits, j)
		if i == len(d.digits) || j == len(e.digits) {
			// The remaining digits do not end in 0.
			return cmp.Compare(len(d.digits)-i, len(e.digits)-j)
		}
		if order := cmp.Compare(d.digits[i], e.digits[j]); order != 0 {
			return order
		}
		i, j = i+1, j+1
	}
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func pastPoint(digits string, i int) int {
	if i < len(digits) && digits[i] == '.' {
		return i + 1
	}
	return i
}
