package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON (RFC 8259) and notes where each name and value stands.
type scanner struct {
	text  string
	at    int
	deep  int // how much deeper values may still nest
	nodes []node
}

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func (s *scanner) skipBlanks() {
	for s.at < len(s.text) && isBlank(s.text[s.at]) {
		s.at++
	}
}

// ended reports whether nothing but blanks is left.
func (s *scanner) ended() bool {
	s.skipBlanks()
	return s.at == len(s.text)
}

// take consumes c if it comes next, after blanks.
func (s *scanner) take(c byte) bool {
	s.skipBlanks()
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// value reads any value.
func (s *scanner) value() bool {
	s.skipBlanks()
	i, start, kind := len(s.nodes), s.at, s.nextKind()
	if kind == 0 {
		return false
	}
	s.nodes = append(s.nodes, node{})
	ok := false
	switch kind {
	case KindObject:
		ok = s.nested(s.members)
	case KindArray:
		ok = s.nested(s.elements)
	case KindString:
		ok = s.quoted()
	case KindNumber:
		ok = s.number()
	default:
		ok = s.word(words[kind])
	}
	s.nodes[i] = node{start: uint32(start), end: uint32(s.at), next: uint32(len(s.nodes)), kind: kind}
	return ok
}

// words are the values that are written as a word.
var words = [...]string{KindTrue: "true", KindFalse: "false", KindNull: "null"}

// nextKind is the kind of the value that begins here, 0 if none can.
func (s *scanner) nextKind() Kind {
	switch c := s.peek(); {
	case c == '{':
		return KindObject
	case c == '[':
		return KindArray
	case c == '"':
		return KindString
	case c == '-' || c >= '0' && c <= '9':
		return KindNumber
	case c == 't':
		return KindTrue
	case c == 'f':
		return KindFalse
	case c == 'n':
		return KindNull
	}
	return 0
}

// nested reads an object or an array. Reading recurses, so that nesting needs
// a bound.
func (s *scanner) nested(read func() bool) bool {
	if s.deep == 0 {
		return false
	}
	s.deep--
	s.at++ // the bracket
	ok := read()
	s.deep++
	return ok
}

// members reads an object behind its bracket.
func (s *scanner) members() bool {
	if s.take('}') {
		return true
	}
	for {
		s.skipBlanks()
		start := s.at
		if !s.quoted() {
			return false
		}
		s.nodes = append(s.nodes, node{start: uint32(start), end: uint32(s.at), next: uint32(len(s.nodes) + 1), kind: KindString})
		if !s.take(':') || !s.value() {
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

// elements reads an array behind its bracket.
func (s *scanner) elements() bool {
	if s.take(']') {
		return true
	}
	for {
		if !s.value() {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) word(w string) bool {
	if !strings.HasPrefix(s.text[s.at:], w) {
		return false
	}
	s.at += len(w)
	return true
}

// quoted reads a string as it is written.
func (s *scanner) quoted() bool {
	if s.peek() != '"' {
		return false
	}
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
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
	s.at = i
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
