package message

import (
	"strconv"
	"strings"
)

// Limits of Number attributes, from the AWS documentation.
const (
	numberDigitsMax   = 38
	numberExponentMax = 126
	numberExponentMin = -128
)

// ParseNumber reads up to 18 decimal digits. AWS refuses blanks, signs and fractions.
func ParseNumber(text string) (int64, bool) {
	if text == "" || len(text) > 18 {
		return 0, false
	}
	n := int64(0)
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// IsNumber reports whether text is a valid value of type Number.
func IsNumber(text string) bool { return validNumber(text) }

// validNumber reports whether text is a decimal number, perhaps with an exponent, of at most 38
// digits, from 10^-128 to below 10^127.
func validNumber(text string) bool {
	mantissa, exponentText, hasExponent := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if hasExponent {
		n, err := strconv.Atoi(exponentText)
		if err != nil || n > 1_000_000 || n < -1_000_000 {
			return false
		}
		exponent = n
	}
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		mantissa = mantissa[1:]
	}
	whole, decimals, _ := strings.Cut(mantissa, ".")
	all := whole + decimals
	if all == "" || strings.Trim(all, "0123456789") != "" {
		return false
	}
	fromFirst := strings.TrimLeft(all, "0")
	if fromFirst == "" {
		return true
	}
	if len(strings.TrimRight(fromFirst, "0")) > numberDigitsMax {
		return false
	}
	magnitude := exponent + len(whole) - (len(all) - len(fromFirst)) - 1
	return magnitude >= numberExponentMin && magnitude <= numberExponentMax
}
