package awswire

import (
	"errors"
	"strconv"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// depthMax bounds the nesting of a JSON text. The deepest request of any action nests four levels;
// unknown members may nest deeper.
const depthMax = 32

// scanner reads the members of a request in JSON. Used by one goroutine.
type scanner struct {
	jsontext.Scanner
	elements int // of all lists and maps so far
}

// malformed converts an error of the scanner into that of a malformed request. Other errors stay as
// they are.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*jsontext.SyntaxError](err); ok {
		return malformedJSON(syntax.Offset, syntax.What)
	}
	return err
}

// kindNames has the names of kinds in error texts.
var kindNames = [...]string{
	jsontext.KindString: "STRING_VALUE", jsontext.KindObject: "START_OBJECT", jsontext.KindArray: "START_ARRAY",
	jsontext.KindTrue: "TRUE_VALUE", jsontext.KindFalse: "FALSE_VALUE", jsontext.KindNumber: "NUMBER_VALUE", jsontext.KindNull: "",
}

// mismatch returns the error for a value of the wrong kind, or for text that is not JSON.
func (s *scanner) mismatch(want string) error {
	got := kindNames[s.Kind()]
	if got == "" {
		return s.ExpectedValue()
	}
	return notConvertible(got, want)
}

// null reads a null if it is the next value.
func (s *scanner) null() (bool, error) {
	if s.Peek() != 'n' {
		return false, nil
	}
	return true, s.Word(jsontext.KindNull)
}

// stringValue reads a string member.
func (s *scanner) stringValue() (string, error) {
	if s.Peek() != '"' {
		return "", s.mismatch("a String")
	}
	return s.Text()
}

// integerValue reads an integer member.
func (s *scanner) integerValue() (int64, error) {
	if s.Kind() != jsontext.KindNumber {
		return 0, s.mismatch("an Integer")
	}
	token, integer, err := s.Number()
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
	kind := s.Kind()
	if kind != jsontext.KindTrue && kind != jsontext.KindFalse {
		return false, s.mismatch("a Boolean")
	}
	return kind == jsontext.KindTrue, s.Word(kind)
}

// object reads a structure. It calls each for every member; each reads the value.
func (s *scanner) object(each func(name string) error) error {
	if s.Peek() != '{' {
		return s.mismatch("a structure")
	}
	return s.Object(each)
}

// array reads a list. It calls each for every element; each reads the element.
func (s *scanner) array(each func() error) error {
	if s.Peek() != '[' {
		return s.mismatch("a list")
	}
	return s.Array(each)
}
