package awswire

import (
	"strconv"
	"strings"
)

// elementsMax bounds the elements of all lists and maps of one request, which is decoded before the
// caller is authorized. The largest batch, ten entries with ten attributes each, has about 120.
const elementsMax = 4096

// elementsUsual is the capacity of a list with a second structure: a full batch, which would otherwise
// be copied four times.
const elementsUsual = 10

// element counts an element of a list or a map, and refuses one too many.
func (s *scanner) element() error {
	if s.elements++; s.elements > elementsMax {
		return serializationError("The request has more than " + strconv.Itoa(elementsMax) + " elements in its lists and maps.")
	}
	return nil
}

// Strings is a list of strings; query is the name of an element in the Query protocol. Answers leave an
// empty list out; an empty list in a JSON request is not nil.
func Strings[T any](name, query string, at func(*T) *[]string) Member[T] {
	return Member[T]{is: listMember{names: names{name, query}, at: untyped(at)}}
}

// StringsAlways is Strings for a list that answers have also when empty.
func StringsAlways[T any](name, query string, at func(*T) *[]string) Member[T] {
	return Member[T]{is: listMember{names: names{name, query}, at: untyped(at), always: true}}
}

type listMember struct {
	names  names
	at     func(any) *[]string
	always bool
}

func (m listMember) info() MemberInfo { return m.names.describe(KindStringList) }

func (m listMember) decodeJSON(s *scanner, into any) error {
	list := []string{} // given, though it may be empty
	err := s.array(func() error {
		if null, err := s.null(); null {
			return err
		}
		if err := s.element(); err != nil {
			return err
		}
		text, err := s.stringValue()
		list = append(list, text)
		return err
	})
	*m.at(into) = list
	return err
}

func (m listMember) decodeForm(n *formNode, into any) error {
	for _, item := range n.items(m.names.query) {
		if item.given {
			*m.at(into) = append(*m.at(into), item.value)
		}
	}
	return nil
}

func (m listMember) present(v any) bool { return m.always || len(*m.at(v)) > 0 }

func (m listMember) appendJSON(dst []byte, v any) []byte {
	texts := *m.at(v)
	return appendList(dst, len(texts), func(dst []byte, i int) []byte { return appendJSONString(dst, texts[i]) })
}

func (m listMember) appendXML(dst []byte, v any) []byte {
	for _, text := range *m.at(v) {
		dst = appendElement(dst, m.names.query, text)
	}
	return dst
}

// StringMap is a map from string to string. In the Query protocol an entry is a structure named query
// with the members key and value.
func StringMap[T any](name, query, key, value string, at func(*T) *[]Pair) Member[T] {
	return Member[T]{is: mapMember{names{name, query}, key, value, untyped(at)}}
}

type mapMember struct {
	names      names
	key, value string
	at         func(any) *[]Pair
}

func (m mapMember) info() MemberInfo { return m.names.describe(KindStringMap) }

func (m mapMember) decodeJSON(s *scanner, into any) error {
	pairs := (*m.at(into))[:0]
	err := s.object(func(name string) error {
		if null, err := s.null(); null {
			return err
		}
		if err := s.element(); err != nil {
			return err
		}
		text, err := s.stringValue()
		pairs = append(pairs, Pair{name, text})
		return err
	})
	*m.at(into) = pairs
	return err
}

// decodeForm also reads a map under the name of its member: the Java SDKs of the Query era send
// Tags.1.Key where the model says Tag.1.Key (aws-sdk-java-v2#2524).
func (m mapMember) decodeForm(n *formNode, into any) error {
	items := n.items(m.names.query)
	if len(items) == 0 && m.names.json != m.names.query {
		items = n.items(strings.ToUpper(m.names.json[:1]) + m.names.json[1:])
	}
	for _, item := range items {
		key, _ := item.text(m.key)
		value, _ := item.text(m.value)
		*m.at(into) = append(*m.at(into), Pair{key, value})
	}
	return nil
}

func (m mapMember) present(v any) bool { return len(*m.at(v)) > 0 }

func (m mapMember) appendJSON(dst []byte, v any) []byte {
	dst = append(dst, '{')
	for i, p := range *m.at(v) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, p.Key), ':')
		dst = appendJSONString(dst, p.Value)
	}
	return append(dst, '}')
}

func (m mapMember) appendXML(dst []byte, v any) []byte {
	for _, p := range *m.at(v) {
		dst = appendOpen(dst, m.names.query)
		dst = appendElement(dst, m.key, p.Key)
		dst = appendElement(dst, m.value, p.Value)
		dst = appendClose(dst, m.names.query)
	}
	return dst
}
