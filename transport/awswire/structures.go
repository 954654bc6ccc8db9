package awswire

import "slices"

// Structures is a list of structures; query is the name of an element in the Query protocol. Answers
// leave an empty list out.
func Structures[T, E any](name, query string, element *Schema[E], at func(*T) *[]E) Member[T] {
	return Member[T]{is: structuresMember{names{name, query}, &element.Shape, elements[T, E](at)}}
}

// StructureMap is a map from string to structure. key locates the key in the element. In the Query
// protocol an entry is a structure named query with the members Name and Value.
func StructureMap[T, E any](name, query string, element *Schema[E], key func(*E) *string, at func(*T) *[]E) Member[T] {
	return Member[T]{is: structureMapMember{structuresMember{names{name, query}, &element.Shape, elements[T, E](at)}, untyped(key)}}
}

// list is a list of structures within another structure, to which v points.
type list interface {
	length(v any) int
	// element returns a pointer to an element, valid until the list grows.
	element(v any, i int) any
	// clear removes all elements.
	clear(v any)
	// grow adds an empty element and returns a pointer to it.
	grow(v any) any
	// fill sets the list to n empty elements.
	fill(v any, n int)
}

type elements[T, E any] func(*T) *[]E

func (at elements[T, E]) length(v any) int         { return len(*at(v.(*T))) }
func (at elements[T, E]) element(v any, i int) any { return &(*at(v.(*T)))[i] }
func (at elements[T, E]) fill(v any, n int)        { *at(v.(*T)) = make([]E, n) }

func (at elements[T, E]) clear(v any) {
	of := at(v.(*T))
	*of = (*of)[:0]
}

func (at elements[T, E]) grow(v any) any {
	of := at(v.(*T))
	if len(*of) == 1 {
		*of = slices.Grow(*of, elementsUsual-1)
	}
	*of = append(*of, *new(E))
	return &(*of)[len(*of)-1]
}

type structuresMember struct {
	names names
	shape *Shape
	list  list
}

func (m structuresMember) info() MemberInfo { return m.describeElements(KindStructureList) }

func (m structuresMember) describeElements(kind Kind) MemberInfo {
	info := m.names.describe(kind)
	info.Element = m.shape.Members()
	return info
}

// add adds an empty element for a request.
func (m structuresMember) add(s *scanner, into any) (element any, err error) {
	if err := s.element(); err != nil {
		return nil, err
	}
	return m.list.grow(into), nil
}

func (m structuresMember) decodeJSON(s *scanner, into any) error {
	m.list.clear(into)
	return s.array(func() error {
		if null, err := s.null(); null {
			return err
		}
		element, err := m.add(s, into)
		if err != nil {
			return err
		}
		return m.shape.decodeObject(s, element)
	})
}

func (m structuresMember) decodeForm(n *formNode, into any) error {
	items := n.items(m.names.query)
	if len(items) == 0 {
		return nil
	}
	m.list.fill(into, len(items))
	for i, item := range items {
		if err := m.shape.decodeNode(item, m.list.element(into, i)); err != nil {
			return err
		}
	}
	return nil
}

func (m structuresMember) present(v any) bool { return m.list.length(v) > 0 }

func (m structuresMember) appendJSON(dst []byte, v any) []byte {
	return appendList(dst, m.list.length(v), func(dst []byte, i int) []byte { return m.shape.AppendJSON(dst, m.list.element(v, i)) })
}

func (m structuresMember) appendNegotiated(dst []byte, v any) []byte {
	return appendList(dst, m.list.length(v), func(dst []byte, i int) []byte { return m.shape.appendNegotiated(dst, m.list.element(v, i)) })
}

func (m structuresMember) appendXML(dst []byte, v any) []byte {
	for i := range m.list.length(v) {
		dst = appendOpen(dst, m.names.query)
		dst = m.shape.appendXMLMembers(dst, m.list.element(v, i))
		dst = appendClose(dst, m.names.query)
	}
	return dst
}

type structureMapMember struct {
	elements structuresMember
	key      func(any) *string
}

func (m structureMapMember) info() MemberInfo { return m.elements.describeElements(KindStructureMap) }

func (m structureMapMember) decodeJSON(s *scanner, into any) error {
	m.elements.list.clear(into)
	return s.object(func(name string) error {
		if null, err := s.null(); null {
			return err
		}
		element, err := m.elements.add(s, into)
		if err != nil {
			return err
		}
		*m.key(element) = name
		return m.elements.shape.decodeObject(s, element)
	})
}

func (m structureMapMember) decodeForm(n *formNode, into any) error {
	items := n.items(m.elements.names.query)
	if len(items) == 0 {
		return nil
	}
	m.elements.list.fill(into, len(items))
	for i, item := range items {
		element := m.elements.list.element(into, i)
		*m.key(element), _ = item.text("Name")
		value := item.children["Value"]
		if value == nil {
			continue
		}
		if err := m.elements.shape.decodeNode(value, element); err != nil {
			return err
		}
	}
	return nil
}

func (m structureMapMember) present(v any) bool { return m.elements.present(v) }

func (m structureMapMember) appendJSON(dst []byte, v any) []byte {
	dst = append(dst, '{')
	for i := range m.elements.list.length(v) {
		if i > 0 {
			dst = append(dst, ',')
		}
		element := m.elements.list.element(v, i)
		dst = append(appendJSONString(dst, *m.key(element)), ':')
		dst = m.elements.shape.AppendJSON(dst, element)
	}
	return append(dst, '}')
}

func (m structureMapMember) appendNegotiated(dst []byte, v any) []byte {
	return appendList(dst, m.elements.list.length(v), func(dst []byte, i int) []byte {
		element := m.elements.list.element(v, i)
		dst = appendJSONString(append(dst, `{"Name":`...), *m.key(element))
		dst = append(dst, `,"Value":`...)
		return append(m.elements.shape.appendNegotiated(dst, element), '}')
	})
}

func (m structureMapMember) appendXML(dst []byte, v any) []byte {
	for i := range m.elements.list.length(v) {
		element := m.elements.list.element(v, i)
		dst = appendOpen(dst, m.elements.names.query)
		dst = appendElement(dst, "Name", *m.key(element))
		dst = appendOpen(dst, "Value")
		dst = m.elements.shape.appendXMLMembers(dst, element)
		dst = appendClose(dst, "Value")
		dst = appendClose(dst, m.elements.names.query)
	}
	return dst
}
