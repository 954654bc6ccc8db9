package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON (RFC 8259) and copies what it reads without the blanks
// between tokens.
type scanner struct {
	text string
	at   int
	out  []byte
}

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) skipBlanks() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// ended reports whether nothing but blanks is left.
func (s *scanner) ended() bool {
	s.skipBlanks()
	return s.at == len(s.text)
}

// take copies c if it comes next, after blanks.
func (s *scanner) take(c byte) bool {
	s.skipBlanks()
	if s.peek() != c {
		return false
	}
	s.at++
	s.out = append(s.out, c)
	return true
}

// members reads an object and visits its members.
func (s *scanner) members(visit func(name, raw string) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		s.skipBlanks()
		from := s.at
		if !s.quoted() {
			return false
		}
		name := s.text[from:s.at]
		if !s.take(':') {
			return false
		}
		start := len(s.out)
		if !s.value() {
			return false
		}
		if visit != nil && !visit(unquote(name), string(s.out[start:])) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// elements reads an array and visits its elements.
func (s *scanner) elements(visit func(raw string)) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		s.skipBlanks()
		start := len(s.out)
		if !s.value() {
			return false
		}
		if visit != nil {
			visit(string(s.out[start:]))
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// value reads any value. Nesting is bounded by the length of the text.
func (s *scanner) value() bool {
	s.skipBlanks()
	switch c := s.peek(); {
	case c == '{':
		return s.members(nil)
	case c == '[':
		return s.elements(nil)
	case c == '"':
		return s.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[s.at:], word) {
			s.copy(len(word))
			return true
		}
	}
	return false
}

func (s *scanner) copy(n int) {
	s.out = append(s.out, s.text[s.at:s.at+n]...)
	s.at += n
}

// quoted reads a string as it is written.
func (s *scanner) quoted() bool {
	if s.peek() != '"' {
		return false
	}
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.copy(i + 1 - s.at)
			return true
		case c < ' ':
			return false
		case c == '\\':
			i++
			if i == len(s.text) || strings.IndexByte(`"\/bfnrtu`, s.text[i]) < 0 {
				return false
			}
			if s.text[i] == 'u' {
				if _, ok := codeUnit(s.text[i+1:]); !ok {
					return false
				}
				i += 4
			}
		}
	}
	return false
}

// codeUnit reads the four digits of a \u escape.
func codeUnit(text string) (rune, bool) {
	if len(text) < 4 || strings.ContainsAny(text[:4], "+-_") {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:4], 16, 16)
	return rune(n), err == nil
}

func (s *scanner) number() bool {
	i := s.at
	digits := func() bool {
		from := i
		for i < len(s.text) && s.text[i] >= '0' && s.text[i] <= '9' {
			i++
		}
		return i > from
	}
	is := func(set string) bool { return i < len(s.text) && strings.IndexByte(set, s.text[i]) >= 0 }
	if is("-") {
		i++
	}
	if is("0") {
		i++
	} else if !digits() {
		return false
	}
	if is(".") {
		if i++; !digits() {
			return false
		}
	}
	if is("eE") {
		if i++; is("+-") {
			i++
		}
		if !digits() {
			return false
		}
	}
	s.copy(i - s.at)
	return true
}

// unquote is the text of a string that quoted has read. Half of a surrogate
// pair becomes U+FFFD.
func unquote(raw string) string {
	raw = raw[1 : len(raw)-1]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var text strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			text.WriteByte(raw[i])
			continue
		}
		i++
		if k := strings.IndexByte("bfnrt", raw[i]); k >= 0 {
			text.WriteByte("\b\f\n\r\t"[k])
			continue
		}
		if raw[i] != 'u' {
			text.WriteByte(raw[i])
			continue
		}
		c, _ := codeUnit(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(c) {
			second := rune(-1)
			if strings.HasPrefix(raw[i+1:], `\u`) {
				second, _ = codeUnit(raw[i+3:])
			}
			if c = utf16.DecodeRune(c, second); c != utf8.RuneError {
				i += 6
			}
		}
		text.WriteRune(c)
	}
	return text.String()
}

// StringOf reads a JSON string; false for any other value.
func StringOf(raw string) (string, bool) {
	if raw == "" || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}
