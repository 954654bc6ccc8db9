package awswire

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendJSONString appends s as a JSON string. Invalid UTF-8, which occurs only in error texts that quote
// a parameter, becomes U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	run := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[run:i]...), "\uFFFD"...)
				run = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[run:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		run = i
	}
	return append(append(dst, s[run:]...), '"')
}

const xmlProlog = `<?xml version="1.0"?>`

// appendXMLText appends s as character data. A carriage return becomes a reference, because parsers turn
// a bare one into a line feed (recorded from AWS). Characters that XML 1.0 does not permit become U+FFFD.
func appendXMLText(dst []byte, s string) []byte {
	run := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		var replacement string
		switch {
		case r == '&':
			replacement = "&amp;"
		case r == '<':
			replacement = "&lt;"
		case r == '>':
			replacement = "&gt;"
		case r == '"':
			replacement = "&quot;"
		case r == '\r':
			replacement = "&#xD;"
		case (r < ' ' && r != '\t' && r != '\n') || r == 0xFFFE || r == 0xFFFF || (r == utf8.RuneError && size == 1):
			replacement = "\uFFFD"
		}
		if replacement != "" {
			dst = append(append(dst, s[run:i]...), replacement...)
			run = i + size
		}
		i += size
	}
	return append(dst, s[run:]...)
}

func appendElement(dst []byte, name, text string) []byte {
	dst = appendOpen(dst, name)
	dst = appendXMLText(dst, text)
	return appendClose(dst, name)
}

func appendOpen(dst []byte, name string) []byte {
	return append(append(append(dst, '<'), name...), '>')
}

func appendClose(dst []byte, name string) []byte {
	return append(append(append(dst, '<', '/'), name...), '>')
}
