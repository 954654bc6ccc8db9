package jsontext

import "strings"

// Scanner reads a JSON text (RFC 8259) once, token by token. Its errors are of type [SyntaxError].
// One goroutine uses it.
type Scanner struct {
	text     string
	pos      int
	depth    int
	depthMax int
	halves   bool // half of a surrogate pair reads as U+FFFD instead of an error
}

// NewScanner returns a Scanner that refuses nesting beyond depthMax.
func NewScanner(text string, depthMax int) Scanner { return Scanner{text: text, depthMax: depthMax} }

func (s *Scanner) fail(what string) error { return &SyntaxError{Offset: s.pos, What: what} }

// ExpectedValue returns the error for a missing value.
func (s *Scanner) ExpectedValue() error { return s.fail("expected a value") }

// Peek skips white space and returns the next byte, or 0 at the end.
func (s *Scanner) Peek() byte {
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

// Kind skips white space and returns the kind of the next value, 0 if none can begin here.
func (s *Scanner) Kind() Kind {
	switch c := s.Peek(); {
	case c == '"':
		return KindString
	case c == '{':
		return KindObject
	case c == '[':
		return KindArray
	case c == 't':
		return KindTrue
	case c == 'f':
		return KindFalse
	case c == 'n':
		return KindNull
	case c == '-' || c >= '0' && c <= '9':
		return KindNumber
	}
	return 0
}

// open enters an object or an array.
func (s *Scanner) open() error {
	if s.depth++; s.depth > s.depthMax {
		return s.fail("too many nested values")
	}
	s.pos++
	return nil
}

// next moves to the next member or element. It reports false after the closing bracket.
func (s *Scanner) next(first bool, closing byte) (bool, error) {
	c := s.Peek()
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
	if s.Peek() == closing {
		return false, s.fail("a comma before " + string(rune(closing)))
	}
	return true, nil
}

// colon reads the colon after a member name.
func (s *Scanner) colon() error {
	if s.Peek() != ':' {
		return s.fail("expected :")
	}
	s.pos++
	return nil
}

// Object reads an object, whose bracket is the next byte. It calls each for every member; each reads
// the value.
func (s *Scanner) Object(each func(name string) error) error {
	if err := s.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.next(first, '}')
		if err != nil || !more {
			return err
		}
		if s.Peek() != '"' {
			return s.fail("expected a member name")
		}
		name, err := s.Text()
		if err != nil {
			return err
		}
		if err := s.colon(); err != nil {
			return err
		}
		if err := each(name); err != nil {
			return err
		}
	}
}

// Array reads an array, whose bracket is the next byte. It calls each for every element; each reads
// the element.
func (s *Scanner) Array(each func() error) error {
	if err := s.open(); err != nil {
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

// words are the literals.
var words = [...]string{KindTrue: "true", KindFalse: "false", KindNull: "null"}

// Word reads a value of the kind true, false or null.
func (s *Scanner) Word(kind Kind) error {
	if !strings.HasPrefix(s.text[s.pos:], words[kind]) {
		return s.fail("an unknown word")
	}
	s.pos += len(words[kind])
	return nil
}

// Number returns a number as written, and whether it is an integer.
func (s *Scanner) Number() (token string, integer bool, err error) {
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

func (s *Scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

func (s *Scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}

// Skip reads a value of any kind.
func (s *Scanner) Skip() (err error) {
	switch kind := s.Kind(); kind {
	case KindObject:
		return s.Object(func(string) error { return s.Skip() })
	case KindArray:
		return s.Array(s.Skip)
	case KindString:
		_, err = s.Text()
	case KindNumber:
		_, _, err = s.Number()
	case KindTrue, KindFalse, KindNull:
		err = s.Word(kind)
	default:
		err = s.ExpectedValue()
	}
	return err
}

// End refuses text after the value, except white space.
func (s *Scanner) End() error {
	if s.Peek() != 0 || s.pos < len(s.text) {
		return s.fail("text after the end of the value")
	}
	return nil
}
