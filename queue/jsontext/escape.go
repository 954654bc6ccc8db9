package jsontext

import "strings"

// escapes are the characters that have a short escape besides the quotation mark
// and the backslash, and shortForms what follows the backslash.
const (
	escapes    = "\b\f\n\r\t"
	shortForms = "bfnrt"
)

// escapedBytes is how many bytes each byte of a text has in a JSON string.
var escapedBytes = func() (n [256]uint8) {
	for c := range n {
		n[c] = 1
		if c < ' ' {
			n[c] = uint8(len(`\u0000`))
		}
	}
	for _, c := range []byte(escapes + `"\`) {
		n[c] = uint8(len(`\n`))
	}
	return n
}()

// WriteEscaped writes what stands between the quotation marks of a JSON string, in
// the form of Jackson, the library with which SNS writes: a quotation mark, a
// backslash and control characters are escaped, with \u and upper-case digits if
// they have no short form, and everything else stays as it is. So does a byte that
// is not UTF-8, which no accepted message has.
func WriteEscaped(to *strings.Builder, s string) {
	const digits = "0123456789ABCDEF"
	from := 0 // of what is not written yet
	for i := range len(s) {
		c := s[i]
		if escapedBytes[c] == 1 {
			continue
		}
		to.WriteString(s[from:i])
		from = i + 1
		to.WriteByte('\\')
		switch k := strings.IndexByte(escapes, c); {
		case k >= 0:
			to.WriteByte(shortForms[k])
		case c == '"' || c == '\\':
			to.WriteByte(c)
		default:
			to.WriteString("u00")
			to.WriteByte(digits[c>>4])
			to.WriteByte(digits[c&15])
		}
	}
	to.WriteString(s[from:])
}

// EscapedLength is how many bytes WriteEscaped writes for s.
func EscapedLength(s string) int {
	n := 0
	for i := range len(s) {
		n += int(escapedBytes[s[i]])
	}
	return n
}
