// Package lettercase compares texts without regard to letter case. It does not use package
// unicode, whose tables change with versions of Go.
package lettercase

import (
	"strings"
	"unicode/utf8"
)

// Folded returns a text in lower case. Its length in bytes is that of the text.
func Folded(text string) string { return strings.Map(fold, text) }

// Equal reports whether two texts differ only in letter case. Both are valid UTF-8.
func Equal(a, b string) bool { return len(a) == len(b) && (a == b || Compare(a, b) == 0) }

// Compare returns a number below, at or above zero for the order of the folded texts.
func Compare(a, b string) int {
	for i := 0; ; {
		if i == len(a) || i == len(b) {
			return len(a) - len(b)
		}
		x, y, size := rune(a[i]), rune(b[i]), 1
		switch {
		case x|y >= utf8.RuneSelf:
			x, size = utf8.DecodeRuneInString(a[i:])
			y, _ = utf8.DecodeRuneInString(b[i:])
		case x == y:
			i++
			continue
		}
		if x, y = fold(x), fold(y); x != y {
			return int(x - y)
		}
		i += size
	}
}

// caseRange is a range of capitals whose small letters follow at a distance. Distance 1 means
// alternating pairs of capital and small letter, starting at first.
type caseRange struct{ first, last, distance rune }

// caseRanges covers Latin, Greek, Cyrillic and Armenian. The tables of package unicode grow with
// versions of Go, so replicas could diverge.
var caseRanges = [...]caseRange{
	{'A', 'Z', 32},
	{0xC0, 0xD6, 32},
	{0xD8, 0xDE, 32},
	{0x100, 0x12F, 1},
	{0x132, 0x137, 1},
	{0x139, 0x148, 1},
	{0x14A, 0x177, 1},
	{0x178, 0x178, -121},
	{0x179, 0x17E, 1},
	{0x386, 0x386, 38},
	{0x388, 0x38A, 37},
	{0x38C, 0x38C, 64},
	{0x38E, 0x38F, 63},
	{0x391, 0x3A1, 32},
	{0x3A3, 0x3AB, 32},
	{0x400, 0x40F, 80},
	{0x410, 0x42F, 32},
	{0x460, 0x481, 1},
	{0x48A, 0x4BF, 1},
	{0x4C0, 0x4C0, 15},
	{0x4C1, 0x4CE, 1},
	{0x4D0, 0x52F, 1},
	{0x531, 0x556, 48},
}

// finalSigma is the small sigma at the end of a word.
const finalSigma, smallSigma = 'ς', 'σ'

// fold returns the small letter of a capital, and any other character unchanged.
func fold(r rune) rune {
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	if r == finalSigma {
		return smallSigma
	}
	for _, c := range caseRanges {
		switch {
		case r < c.first || r > c.last:
		case c.distance != 1:
			return r + c.distance
		default:
			return r + (r-c.first+1)%2
		}
	}
	return r
}
