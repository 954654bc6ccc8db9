package awswire

import (
	"slices"
	"strconv"
)

// elementsMax bounds one list or map, so that a small request cannot make the
// node hold many structures. No action allows more than 50 (tags).
const elementsMax = 4096

// elementsUsual is how many structures a list gets room for when it has a
// second one: a full batch, which would otherwise be copied four times.
const elementsUsual = 10

func tooManyElements(name string) error {
	return serializationError(name + " has more than " + strconv.Itoa(elementsMax) + " elements")
}

// Strings is a list of strings; query is the name of one element in the Query
// protocol. An empty list is left out of answers; in a request in JSON it is one
// that is not nil.
func Strings[T any](name, query string, at func(*T) *[]string) Member[T] {
	return listMember[T]{names: names{name, query}, at: at}
}

// StringsAlways is Strings, but an empty list is written, too.
func StringsAlways[T any](name, query string, at func(*T) *[]string) Member[T] {
	return listMember[T]{names: names{name, query}, at: at, always: true}
}

type listMember[T any] struct {
	names
	at     func(*T) *[]string
	always bool
}

func (m listMember[T]) info() MemberInfo { return m.describe(KindStringList) }

func (m listMember[T]) decodeJSON(s *scanner, into *T) error {
	list := []string{} // given, though it may be empty
	err := s.array(func() error {
		if null, err := s.null(); null {
			return err
		}
		if len(list) == elementsMax {
			return tooManyElements(m.json)
		}
		text, err := s.stringValue()
		list = append(list, text)
		return err
	})
	*m.at(into) = list
	return err
}

func (m listMember[T]) decodeForm(n *formNode, into *T) error {
	for _, item := range n.items(m.query) {
		if item.given {
			*m.at(into) = append(*m.at(into), item.value)
		}
	}
	return nil
}

func (m listMember[T]) present(v *T) bool { return m.always || len(*m.at(v)) > 0 }

func (m listMember[T]) appendJSON(dst []byte, v *T) []byte {
	dst = append(dst, '[')
	for i, text := range *m.at(v) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, text)
	}
	return append(dst, ']')
}

func (m listMember[T]) appendXML(dst []byte, v *T) []byte {
	for _, text := range *m.at(v) {
		dst = appendElement(dst, m.query, text)
	}
	return dst
}

// StringMap is a map from string to string. In the Query protocol its entries
// are structures named query with the members key and value.
func StringMap[T any](name, query, key, value string, at func(*T) *[]Pair) Member[T] {
	return mapMember[T]{names{name, query}, key, value, at}
}

type mapMember[T any] struct {
	names
	key, value string
	at         func(*T) *[]Pair
}

func (m mapMember[T]) info() MemberInfo { return m.describe(KindStringMap) }

func (m mapMember[T]) decodeJSON(s *scanner, into *T) error {
	pairs := (*m.at(into))[:0]
	err := s.object(func(name string) error {
		if null, err := s.null(); null {
			return err
		}
		if len(pairs) == elementsMax {
			return tooManyElements(m.json)
		}
		text, err := s.stringValue()
		pairs = append(pairs, Pair{name, text})
		return err
	})
	*m.at(into) = pairs
	return err
}

func (m mapMember[T]) decodeForm(n *formNode, into *T) error {
	for _, item := range n.items(m.query) {
		key, _ := item.text(m.key)
		value, _ := item.text(m.value)
		*m.at(into) = append(*m.at(into), Pair{key, value})
	}
	return nil
}

func (m mapMember[T]) present(v *T) bool { return len(*m.at(v)) > 0 }

func (m mapMember[T]) appendJSON(dst []byte, v *T) []byte {
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

func (m mapMember[T]) appendXML(dst []byte, v *T) []byte {
	for _, p := range *m.at(v) {
		dst = appendOpen(dst, m.query)
		dst = appendElement(dst, m.key, p.Key)
		dst = appendElement(dst, m.value, p.Value)
		dst = appendClose(dst, m.query)
	}
	return dst
}

// Structures is a list of structures; query is the name of one element in the
// Query protocol. An empty list is left out.
func Structures[T, E any](name, query string, element *Schema[E], at func(*T) *[]E) Member[T] {
	return structuresMember[T, E]{names{name, query}, element, at}
}

type structuresMember[T, E any] struct {
	names
	element *Schema[E]
	at      func(*T) *[]E
}

func (m structuresMember[T, E]) info() MemberInfo {
	info := m.describe(KindStructureList)
	info.Element = m.element.Members()
	return info
}

func (m structuresMember[T, E]) decodeJSON(s *scanner, into *T) error {
	list := (*m.at(into))[:0]
	err := s.array(func() error {
		if null, err := s.null(); null {
			return err
		}
		if len(list) == elementsMax {
			return tooManyElements(m.json)
		}
		if len(list) == 1 {
			list = slices.Grow(list, elementsUsual-1)
		}
		list = append(list, *new(E))
		return m.element.decodeObject(s, &list[len(list)-1])
	})
	*m.at(into) = list
	return err
}

func (m structuresMember[T, E]) decodeForm(n *formNode, into *T) error {
	items := n.items(m.query)
	if len(items) == 0 {
		return nil
	}
	list := make([]E, len(items))
	for i, item := range items {
		if err := m.element.decodeNode(item, &list[i]); err != nil {
			return err
		}
	}
	*m.at(into) = list
	return nil
}

func (m structuresMember[T, E]) present(v *T) bool { return len(*m.at(v)) > 0 }

func (m structuresMember[T, E]) appendJSON(dst []byte, v *T) []byte {
	dst = append(dst, '[')
	list := *m.at(v)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.element.AppendJSON(dst, &list[i])
	}
	return append(dst, ']')
}

func (m structuresMember[T, E]) appendXML(dst []byte, v *T) []byte {
	list := *m.at(v)
	for i := range list {
		dst = appendOpen(dst, m.query)
		dst = m.element.appendXMLMembers(dst, &list[i])
		dst = appendClose(dst, m.query)
	}
	return dst
}

// StructureMap is a map from string to structure. The key is stored in the
// element, at key. In the Query protocol an entry is a structure named query
// with the members Name and Value.
func StructureMap[T, E any](name, query string, element *Schema[E], key func(*E) *string, at func(*T) *[]E) Member[T] {
	return structureMapMember[T, E]{names{name, query}, element, key, at}
}

type structureMapMember[T, E any] struct {
	names
	element *Schema[E]
	key     func(*E) *string
	at      func(*T) *[]E
}

func (m structureMapMember[T, E]) info() MemberInfo {
	info := m.describe(KindStructureMap)
	info.Element = m.element.Members()
	return info
}

func (m structureMapMember[T, E]) decodeJSON(s *scanner, into *T) error {
	list := (*m.at(into))[:0]
	err := s.object(func(name string) error {
		if null, err := s.null(); null {
			return err
		}
		if len(list) == elementsMax {
			return tooManyElements(m.json)
		}
		list = append(list, *new(E))
		e := &list[len(list)-1]
		*m.key(e) = name
		return m.element.decodeObject(s, e)
	})
	*m.at(into) = list
	return err
}

func (m structureMapMember[T, E]) decodeForm(n *formNode, into *T) error {
	items := n.items(m.query)
	if len(items) == 0 {
		return nil
	}
	list := make([]E, len(items))
	for i, item := range items {
		*m.key(&list[i]), _ = item.text("Name")
		value := item.children["Value"]
		if value == nil {
			continue
		}
		if err := m.element.decodeNode(value, &list[i]); err != nil {
			return err
		}
	}
	*m.at(into) = list
	return nil
}

func (m structureMapMember[T, E]) present(v *T) bool { return len(*m.at(v)) > 0 }

func (m structureMapMember[T, E]) appendJSON(dst []byte, v *T) []byte {
	dst = append(dst, '{')
	list := *m.at(v)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSONString(dst, *m.key(&list[i])), ':')
		dst = m.element.AppendJSON(dst, &list[i])
	}
	return append(dst, '}')
}

func (m structureMapMember[T, E]) appendXML(dst []byte, v *T) []byte {
	list := *m.at(v)
	for i := range list {
		dst = appendOpen(dst, m.query)
		dst = appendElement(dst, "Name", *m.key(&list[i]))
		dst = appendOpen(dst, "Value")
		dst = m.element.appendXMLMembers(dst, &list[i])
		dst = appendClose(dst, "Value")
		dst = appendClose(dst, m.query)
	}
	return dst
}
