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
	return Member[T]{is: stringMember{names{name, name}, untyped(at)}}
}

type stringMember struct {
	names names
	at    func(any) *string
}

func (m stringMember) info() MemberInfo { return m.names.describe(KindString) }

func (m stringMember) decodeJSON(s *scanner, into any) (err error) {
	*m.at(into), err = s.stringValue()
	return err
}

func (m stringMember) decodeForm(n *formNode, into any) error {
	if text, given := n.text(m.names.query); given {
		*m.at(into) = text
	}
	return nil
}

func (m stringMember) present(v any) bool { return *m.at(v) != "" }

func (m stringMember) appendJSON(dst []byte, v any) []byte {
	return appendJSONString(dst, *m.at(v))
}

func (m stringMember) appendXML(dst []byte, v any) []byte {
	return appendElement(dst, m.names.query, *m.at(v))
}

// OptionalString is a string member that may be absent.
func OptionalString[T any](name string, at func(*T) *Text) Member[T] {
	return Member[T]{is: textMember{names{name, name}, untyped(at)}}
}

type textMember struct {
	names names
	at    func(any) *Text
}

func (m textMember) info() MemberInfo { return m.names.describe(KindString) }

func (m textMember) decodeJSON(s *scanner, into any) error {
	text, err := s.stringValue()
	*m.at(into) = Text{text, err == nil}
	return err
}

func (m textMember) decodeForm(n *formNode, into any) error {
	if text, given := n.text(m.names.query); given {
		*m.at(into) = Text{text, true}
	}
	return nil
}

func (m textMember) present(v any) bool { return m.at(v).Given }

func (m textMember) appendJSON(dst []byte, v any) []byte {
	return appendJSONString(dst, m.at(v).Value)
}

func (m textMember) appendXML(dst []byte, v any) []byte {
	return appendElement(dst, m.names.query, m.at(v).Value)
}

// Integer is an integer member that may be absent.
func Integer[T any](name string, at func(*T) *Int) Member[T] {
	return Member[T]{is: intMember{names{name, name}, untyped(at)}}
}

type intMember struct {
	names names
	at    func(any) *Int
}

func (m intMember) info() MemberInfo { return m.names.describe(KindInteger) }

func (m intMember) decodeJSON(s *scanner, into any) error {
	v, err := s.integerValue()
	*m.at(into) = Int{v, err == nil}
	return err
}

func (m intMember) decodeForm(n *formNode, into any) error {
	text, given := n.text(m.names.query)
	if !given {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return notAnInteger(text, m.names.query)
	}
	*m.at(into) = Int{v, true}
	return nil
}

func (m intMember) present(v any) bool { return m.at(v).Given }

func (m intMember) appendJSON(dst []byte, v any) []byte {
	return strconv.AppendInt(dst, m.at(v).Value, 10)
}

func (m intMember) appendXML(dst []byte, v any) []byte {
	dst = appendOpen(dst, m.names.query)
	dst = strconv.AppendInt(dst, m.at(v).Value, 10)
	return appendClose(dst, m.names.query)
}

// Boolean is a boolean member that is always written.
func Boolean[T any](name string, at func(*T) *bool) Member[T] {
	return Member[T]{is: boolMember{names{name, name}, untyped(at)}}
}

type boolMember struct {
	names names
	at    func(any) *bool
}

func (m boolMember) info() MemberInfo { return m.names.describe(KindBoolean) }

func (m boolMember) decodeJSON(s *scanner, into any) (err error) {
	*m.at(into), err = s.booleanValue()
	return err
}

func (m boolMember) decodeForm(n *formNode, into any) error {
	if text, given := n.text(m.names.query); given {
		*m.at(into) = text == "true"
	}
	return nil
}

func (m boolMember) present(any) bool { return true }

func (m boolMember) appendJSON(dst []byte, v any) []byte {
	return strconv.AppendBool(dst, *m.at(v))
}

func (m boolMember) appendXML(dst []byte, v any) []byte {
	dst = appendOpen(dst, m.names.query)
	dst = strconv.AppendBool(dst, *m.at(v))
	return appendClose(dst, m.names.query)
}

// Blob is a member of raw bytes, base64 on the wire; left out when empty.
func Blob[T any](name string, at func(*T) *string) Member[T] {
	return Member[T]{is: blobMember{names{name, name}, untyped(at)}}
}

type blobMember struct {
	names names
	at    func(any) *string
}

func (m blobMember) info() MemberInfo { return m.names.describe(KindBlob) }

func (m blobMember) decode(text string, into any) error {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return serializationError("the value of " + m.names.json + " is not valid base64")
	}
	*m.at(into) = string(raw)
	return nil
}

func (m blobMember) decodeJSON(s *scanner, into any) error {
	text, err := s.stringValue()
	if err != nil {
		return err
	}
	return m.decode(text, into)
}

func (m blobMember) decodeForm(n *formNode, into any) error {
	if text, given := n.text(m.names.query); given {
		return m.decode(text, into)
	}
	return nil
}

func (m blobMember) present(v any) bool { return *m.at(v) != "" }

func (m blobMember) appendJSON(dst []byte, v any) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(*m.at(v)))
	return append(dst, '"')
}

func (m blobMember) appendXML(dst []byte, v any) []byte {
	dst = appendOpen(dst, m.names.query)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(*m.at(v)))
	return appendClose(dst, m.names.query)
}
