package awswire

import (
	"encoding/base64"
	"strconv"
)

// names are the two names of a member.
type names struct{ json, query string }

func (n names) describe(kind Kind) MemberInfo {
	return MemberInfo{Name: n.json, Query: n.query, Kind: kind}
}

// String is a string member that is left out when empty.
func String[T any](name string, at func(*T) *string) Member[T] {
	return stringMember[T]{names{name, name}, at}
}

type stringMember[T any] struct {
	names
	at func(*T) *string
}

func (m stringMember[T]) info() MemberInfo { return m.describe(KindString) }

func (m stringMember[T]) decodeJSON(s *scanner, into *T) (err error) {
	*m.at(into), err = s.stringValue()
	return err
}

func (m stringMember[T]) decodeForm(n *formNode, into *T) error {
	if text, given := n.text(m.query); given {
		*m.at(into) = text
	}
	return nil
}

func (m stringMember[T]) present(v *T) bool { return *m.at(v) != "" }

func (m stringMember[T]) appendJSON(dst []byte, v *T) []byte {
	return appendJSONString(dst, *m.at(v))
}

func (m stringMember[T]) appendXML(dst []byte, v *T) []byte {
	return appendElement(dst, m.query, *m.at(v))
}

// OptionalString is a string member that may be absent.
func OptionalString[T any](name string, at func(*T) *Text) Member[T] {
	return textMember[T]{names{name, name}, at}
}

type textMember[T any] struct {
	names
	at func(*T) *Text
}

func (m textMember[T]) info() MemberInfo { return m.describe(KindString) }

func (m textMember[T]) decodeJSON(s *scanner, into *T) error {
	text, err := s.stringValue()
	*m.at(into) = Text{text, err == nil}
	return err
}

func (m textMember[T]) decodeForm(n *formNode, into *T) error {
	if text, given := n.text(m.query); given {
		*m.at(into) = Text{text, true}
	}
	return nil
}

func (m textMember[T]) present(v *T) bool { return m.at(v).Given }

func (m textMember[T]) appendJSON(dst []byte, v *T) []byte {
	return appendJSONString(dst, m.at(v).Value)
}

func (m textMember[T]) appendXML(dst []byte, v *T) []byte {
	return appendElement(dst, m.query, m.at(v).Value)
}

// Integer is an integer member that may be absent.
func Integer[T any](name string, at func(*T) *Int) Member[T] {
	return intMember[T]{names{name, name}, at}
}

type intMember[T any] struct {
	names
	at func(*T) *Int
}

func (m intMember[T]) info() MemberInfo { return m.describe(KindInteger) }

func (m intMember[T]) decodeJSON(s *scanner, into *T) error {
	v, err := s.integerValue()
	*m.at(into) = Int{v, err == nil}
	return err
}

func (m intMember[T]) decodeForm(n *formNode, into *T) error {
	text, given := n.text(m.query)
	if !given {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return notAnInteger(text, m.query)
	}
	*m.at(into) = Int{v, true}
	return nil
}

func (m intMember[T]) present(v *T) bool { return m.at(v).Given }

func (m intMember[T]) appendJSON(dst []byte, v *T) []byte {
	return strconv.AppendInt(dst, m.at(v).Value, 10)
}

func (m intMember[T]) appendXML(dst []byte, v *T) []byte {
	dst = appendOpen(dst, m.query)
	dst = strconv.AppendInt(dst, m.at(v).Value, 10)
	return appendClose(dst, m.query)
}

// Boolean is a boolean member that is always written.
func Boolean[T any](name string, at func(*T) *bool) Member[T] {
	return boolMember[T]{names{name, name}, at}
}

type boolMember[T any] struct {
	names
	at func(*T) *bool
}

func (m boolMember[T]) info() MemberInfo { return m.describe(KindBoolean) }

func (m boolMember[T]) decodeJSON(s *scanner, into *T) (err error) {
	*m.at(into), err = s.booleanValue()
	return err
}

func (m boolMember[T]) decodeForm(n *formNode, into *T) error {
	if text, given := n.text(m.query); given {
		*m.at(into) = text == "true"
	}
	return nil
}

func (m boolMember[T]) present(*T) bool { return true }

func (m boolMember[T]) appendJSON(dst []byte, v *T) []byte {
	return strconv.AppendBool(dst, *m.at(v))
}

func (m boolMember[T]) appendXML(dst []byte, v *T) []byte {
	dst = appendOpen(dst, m.query)
	dst = strconv.AppendBool(dst, *m.at(v))
	return appendClose(dst, m.query)
}

// Blob is a member of raw bytes, base64 on the wire; left out when empty.
func Blob[T any](name string, at func(*T) *string) Member[T] {
	return blobMember[T]{names{name, name}, at}
}

type blobMember[T any] struct {
	names
	at func(*T) *string
}

func (m blobMember[T]) info() MemberInfo { return m.describe(KindBlob) }

func (m blobMember[T]) decode(text string, into *T) error {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return serializationError("the value of " + m.json + " is not valid base64")
	}
	*m.at(into) = string(raw)
	return nil
}

func (m blobMember[T]) decodeJSON(s *scanner, into *T) error {
	text, err := s.stringValue()
	if err != nil {
		return err
	}
	return m.decode(text, into)
}

func (m blobMember[T]) decodeForm(n *formNode, into *T) error {
	if text, given := n.text(m.query); given {
		return m.decode(text, into)
	}
	return nil
}

func (m blobMember[T]) present(v *T) bool { return *m.at(v) != "" }

func (m blobMember[T]) appendJSON(dst []byte, v *T) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(*m.at(v)))
	return append(dst, '"')
}

func (m blobMember[T]) appendXML(dst []byte, v *T) []byte {
	dst = appendOpen(dst, m.query)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(*m.at(v)))
	return appendClose(dst, m.query)
}
