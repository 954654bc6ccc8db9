package awswire

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// depthMax bounds the nesting of a JSON text. The deepest request of any
// action nests four levels; the rest is room for unknown members.
const depthMax = 32

// scanner walks a JSON text once. Used by one goroutine.
type scanner struct {
	text  string
	pos   int
	depth int
}

func (s *scanner) fail(what string) error { return malformedJSON(s.pos, what) }

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// open enters an object or an array.
func (s *scanner) open(bracket byte) error {
	if s.peek() != bracket {
		return s.fail("expected " + string(rune(bracket)))
	}
	if s.depth++; s.depth > depthMax {
		return s.fail("too many nested values")
	}
	s.pos++
	return nil
}

// next moves to the next member or element. It reports false after it has
// consumed the closing bracket.
func (s *scanner) next(first bool, closing byte) (bool, error) {
	c := s.peek()
	if c == closing {
		s.pos++
		s.depth--
		return false, nil
	}
	if first {
		return true, nil
	}
	if c != ',' {
		return false, s.fail("expected , or " + string(rune(closing)))
	}
	s.pos++
	if s.peek() == closing {
		return false, s.fail("a comma before " + string(rune(closing)))
	}
	return true, nil
}

// name reads a member name and its colon.
func (s *scanner) name() (string, error) {
	if s.peek() != '"' {
		return "", s.fail("expected a member name")
	}
	name, err := s.string()
	if err != nil {
		return "", err
	}
	if s.peek() != ':' {
		return "", s.fail("expected :")
	}
	s.pos++
	return name, nil
}

// null consumes a null if that is the next value.
func (s *scanner) null() (bool, error) {
	if s.peek() != 'n' {
		return false, nil
	}
	return true, s.literal("null")
}

func (s *scanner) literal(word string) error {
	if !strings.HasPrefix(s.text[s.pos:], word) {
		return s.fail("an unknown word")
	}
	s.pos += len(word)
	return nil
}

// kindName is the token name that error texts use for the next value.
func (s *scanner) kindName() string {
	switch c := s.peek(); {
	case c == '"':
		return "STRING_VALUE"
	case c == '{':
		return "START_OBJECT"
	case c == '[':
		return "START_ARRAY"
	case c == 't':
		return "TRUE_VALUE"
	case c == 'f':
		return "FALSE_VALUE"
	case c == '-' || (c >= '0' && c <= '9'):
		return "NUMBER_VALUE"
	}
	return ""
}

// mismatch is the error for a value of the wrong kind. Text that is not JSON
// at all is reported as such.
func (s *scanner) mismatch(want string) error {
	got := s.kindName()
	if got == "" {
		return s.fail("expected a value")
	}
	return notConvertible(got, want)
}

// stringValue reads a string member.
func (s *scanner) stringValue() (string, error) {
	if s.peek() != '"' {
		return "", s.mismatch("a String")
	}
	return s.string()
}

// string reads a string; the next byte is its opening quote. A string without
// escapes is returned as a part of the text, without copying.
func (s *scanner) string() (string, error) {
	s.pos++
	start := s.pos
	ascii := true
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"':
			out := s.text[start:s.pos]
			if !ascii && !utf8.ValidString(out) {
				return "", s.fail("malformed UTF-8 in a string")
			}
			s.pos++
			return out, nil
		case c == '\\':
			return s.escapedString(start)
		case c < ' ':
			return "", s.fail("a control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.pos++
	}
	return "", s.fail("a string without end")
}

// escapedString goes on with a string whose first escape is at s.pos.
func (s *scanner) escapedString(start int) (string, error) {
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

// escape appends what the escape at s.pos stands for.
func (s *scanner) escape(out []byte) ([]byte, error) {
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

// unicodeEscape reads \uXXXX, or two of them for a surrogate pair. Half a pair
// is refused: it is no character, and replacing it would change the body that
// the sender has computed a digest of.
func (s *scanner) unicodeEscape(out []byte) ([]byte, error) {
	r, ok := s.hex4(s.pos)
	if !ok {
		return nil, s.fail("a malformed \\u escape")
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		low, ok := s.hex4(s.pos)
		pair := utf16.DecodeRune(r, low)
		if !ok || pair == utf8.RuneError {
			return nil, s.fail("half of a surrogate pair")
		}
		s.pos += 6
		r = pair
	}
	return utf8.AppendRune(out, r), nil
}

func (s *scanner) hex4(at int) (rune, bool) {
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

// number reads a number token by the grammar of RFC 8259.
func (s *scanner) number() (token string, integer bool, err error) {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		return "", false, s.fail("a malformed number")
	}
	integer = true
	if s.at('.') {
		integer = false
		s.pos++
		if !s.digits() {
			return "", false, s.fail("a malformed number")
		}
	}
	if s.at('e') || s.at('E') {
		integer = false
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return "", false, s.fail("a malformed number")
		}
	}
	return s.text[start:s.pos], integer, nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// integerValue reads an integer member.
func (s *scanner) integerValue() (int64, error) {
	if s.kindName() != "NUMBER_VALUE" {
		return 0, s.mismatch("an Integer")
	}
	token, integer, err := s.number()
	if err != nil {
		return 0, err
	}
	if !integer {
		return 0, notConvertible("DECIMAL_VALUE", "an Integer")
	}
	v, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		return 0, serializationError("the number " + token + " is out of the range of an Integer")
	}
	return v, nil
}

// booleanValue reads a boolean member.
func (s *scanner) booleanValue() (bool, error) {
	switch s.peek() {
	case 't':
		return true, s.literal("true")
	case 'f':
		return false, s.literal("false")
	}
	return false, s.mismatch("a Boolean")
}

// skip passes over one value of any kind.
func (s *scanner) skip() error {
	switch s.peek() {
	case '"':
		_, err := s.string()
		return err
	case '{':
		return s.object(func(string) error { return s.skip() })
	case '[':
		return s.array(s.skip)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	if s.kindName() == "" {
		return s.fail("expected a value")
	}
	_, _, err := s.number()
	return err
}

// object calls each for every member; each consumes the value.
func (s *scanner) object(each func(name string) error) error {
	if s.peek() != '{' {
		return s.mismatch("a structure")
	}
	if err := s.open('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.next(first, '}')
		if err != nil || !more {
			return err
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		if err := each(name); err != nil {
			return err
		}
	}
}

// array calls each for every element; each consumes it.
func (s *scanner) array(each func() error) error {
	if s.peek() != '[' {
		return s.mismatch("a list")
	}
	if err := s.open('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.next(first, ']')
		if err != nil || !more {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// end makes sure that nothing but white space follows.
func (s *scanner) end() error {
	if s.peek() != 0 || s.pos < len(s.text) {
		return s.fail("text after the end of the value")
	}
	return nil
}
