package jsontext

import "strings"

// escapes are the control characters with a short escape; shortForms are the letters after the
// backslash.
const (
	escapes    = "\b\f\n\r\t"
	shortForms = "bfnrt"
)

// escapedBytes is the escaped length of each byte.
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

// WriteEscaped writes the inside of a JSON string as Jackson does, SNS's library. It escapes
// quotation marks, backslashes and control characters, with upper-case digits after \u. All other
// bytes stay, including invalid UTF-8, which no accepted message contains.
func WriteEscaped(to *strings.Builder, s string) {
	const digits = "0123456789ABCDEF"
	from := 0 // start of the unwritten part
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

// EscapedLength returns the number of bytes that WriteEscaped writes.
func EscapedLength(s string) int {
	n := 0
	for i := range len(s) {
		n += int(escapedBytes[s[i]])
	}
	return n
}
