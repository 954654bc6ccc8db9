package jsontext

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text reads a string, whose quotation mark is the next byte. A string without escapes is returned
// without copying.
func (s *Scanner) Text() (string, error) { return s.quoted(true) }

// quoted reads a string. Unless decode is set, it only checks a string with escapes.
func (s *Scanner) quoted(decode bool) (string, error) {
	s.pos++
	start, slowly := s.pos, 0 // end of the part to read byte by byte
	ascii := true
	for {
		if s.pos >= slowly {
			for s.pos+8 <= len(s.text) && plain(s.text[s.pos:]) {
				s.pos += 8
			}
			slowly = s.pos + 8
		}
		if s.pos == len(s.text) {
			return "", s.fail("a string without end")
		}
		switch c := s.text[s.pos]; {
		case c == '"':
			out := s.text[start:s.pos]
			if !ascii && !utf8.ValidString(out) {
				return "", s.fail("malformed UTF-8 in a string")
			}
			s.pos++
			return out, nil
		case c == '\\':
			if !decode {
				return "", s.skipEscaped()
			}
			return s.escaped(start)
		case c < ' ':
			return "", s.fail("a control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.pos++
	}
}

// plain reports whether the first eight bytes are ASCII without quotation marks, backslashes and
// control characters.
func plain(text string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	_ = text[7]
	w := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
	// Subtracting a larger number from a byte without its high bit sets the bit. Only such a byte
	// causes a borrow, so no other word passes.
	quotes, escapes := w^'"'*ones, w^'\\'*ones
	return (w|(w-' '*ones)|(quotes-ones)|(escapes-ones))&highs == 0
}

// escaped reads the string from its first escape on.
func (s *Scanner) escaped(start int) (string, error) {
	out := make([]byte, 0, 2*(s.pos-start)+64)
	out = append(out, s.text[start:s.pos]...)
	for s.pos < len(s.text) {
		run := s.pos
		for s.pos < len(s.text) && s.text[s.pos] != '"' && s.text[s.pos] != '\\' && s.text[s.pos] >= ' ' {
			s.pos++
		}
		out = append(out, s.text[run:s.pos]...)
		if s.pos == len(s.text) {
			break
		}
		switch s.text[s.pos] {
		case '"':
			if !utf8.Valid(out) {
				return "", s.fail("malformed UTF-8 in a string")
			}
			s.pos++
			return string(out), nil
		case '\\':
			var err error
			if out, err = s.escape(out); err != nil {
				return "", err
			}
		default:
			return "", s.fail("a control character in a string")
		}
	}
	return "", s.fail("a string without end")
}

// skipEscaped checks the string from its first escape on.
func (s *Scanner) skipEscaped() error {
	var character [utf8.UTFMax]byte
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if _, err := s.escape(character[:0]); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("a control character in a string")
		default:
			s.pos++
		}
	}
	return s.fail("a string without end")
}

// escape appends the character of the escape at s.pos.
func (s *Scanner) escape(out []byte) ([]byte, error) {
	if s.pos+1 >= len(s.text) {
		return nil, s.fail("a string without end")
	}
	c := s.text[s.pos+1]
	if c == 'u' {
		return s.unicodeEscape(out)
	}
	at := strings.IndexByte(`"\/bfnrt`, c)
	if at < 0 {
		return nil, s.fail("an unknown escape")
	}
	s.pos += 2
	return append(out, "\"\\/\b\f\n\r\t"[at]), nil
}

// unicodeEscape reads \uXXXX, or a surrogate pair. Unless halves is set, it refuses half of a pair:
// a replacement would change a body whose digest the sender computed.
func (s *Scanner) unicodeEscape(out []byte) ([]byte, error) {
	r, ok := s.hex4(s.pos)
	if !ok {
		return nil, s.fail("a malformed \\u escape")
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		low, ok := s.hex4(s.pos)
		pair := utf16.DecodeRune(r, low)
		switch {
		case ok && pair != utf8.RuneError:
			s.pos += 6
		case !s.halves:
			return nil, s.fail("half of a surrogate pair")
		}
		r = pair
	}
	return utf8.AppendRune(out, r), nil
}

func (s *Scanner) hex4(at int) (rune, bool) {
	if at+6 > len(s.text) || s.text[at] != '\\' || s.text[at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(s.text[at+2 : at+6]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// unquote returns the text of a string that quoted has read. Half of a surrogate pair becomes U+FFFD.
func unquote(raw string) string {
	s := Scanner{text: raw, halves: true}
	text, _ := s.Text() // checked before
	return text
}
