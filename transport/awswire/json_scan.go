package awswire

import (
	"strconv"
	"strings"
)

// depthMax bounds the nesting of a JSON text. The deepest request of any
// action nests four levels; the rest is room for unknown members.
const depthMax = 32

// scanner walks a JSON text once. Used by one goroutine.
type scanner struct {
	text     string
	pos      int
	depth    int
	elements int // of the lists and maps that were read
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
