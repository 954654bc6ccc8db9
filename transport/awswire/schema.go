package awswire

import "github.com/seriatimq/seriatim/queue/jsontext"

// Schema is the Shape of structures T. Only declarations use the type parameter. Code with it would be
// compiled once for each of some two hundred structures, two megabytes in total.
type Schema[T any] struct{ Shape }

// Member is one member of a structure T. String, Integer and similar functions return one.
type Member[T any] struct{ is member }

// Shape describes one structure for both protocols. It is immutable. Its methods take a pointer to a
// structure of its type, and panic for any other.
type Shape struct {
	members []member
	names   []string // JSON names, in the order of members
	result  bool     // answers have a result element even without members
}

type member interface {
	info() MemberInfo
	// decodeJSON reads the next value, which is not null.
	decodeJSON(s *scanner, into any) error
	// decodeForm reads the member from the node of the structure.
	decodeForm(n *formNode, into any) error
	// present reports whether answers have the member.
	present(v any) bool
	// appendJSON writes the value without its name.
	appendJSON(dst []byte, v any) []byte
	// appendNegotiated writes the value for a Query request that accepts JSON.
	appendNegotiated(dst []byte, v any) []byte
	// appendXML writes complete elements.
	appendXML(dst []byte, v any) []byte
}

// untyped locates a field of a structure whose type the caller does not know.
func untyped[T, F any](at func(*T) *F) func(any) *F {
	return func(v any) *F { return at(v.(*T)) }
}

// Structure returns a Schema. Members are written in this order.
func Structure[T any](members ...Member[T]) *Schema[T] {
	c := &Schema[T]{}
	for _, m := range members {
		c.members = append(c.members, m.is)
		c.names = append(c.names, m.is.info().Name)
	}
	return c
}

// EmptyResult returns the Schema of an output without members whose result element SDKs expect.
func EmptyResult[T any]() *Schema[T] { return &Schema[T]{Shape{result: true}} }

// Members describes the members in order.
func (c *Shape) Members() []MemberInfo {
	out := make([]MemberInfo, len(c.members))
	for i, m := range c.members {
		out[i] = m.info()
	}
	return out
}

// Empty reports whether the structure has no members.
func (c *Shape) Empty() bool { return len(c.members) == 0 }

// DecodeJSON reads a JSON object. An empty text counts as {}. Unknown members are ignored, and null
// equals absent.
func (c *Shape) DecodeJSON(text string, into any) error {
	s := &scanner{Scanner: jsontext.NewScanner(text, depthMax)}
	if s.Peek() == 0 && s.End() == nil {
		return nil
	}
	if err := c.decodeObject(s, into); err != nil {
		return malformed(err)
	}
	return malformed(s.End())
}

func (c *Shape) decodeObject(s *scanner, into any) error {
	return s.object(func(name string) error {
		for i := range c.names {
			if c.names[i] != name {
				continue
			}
			if null, err := s.null(); null {
				return err
			}
			return c.members[i].decodeJSON(s, into)
		}
		return s.Skip()
	})
}

// DecodeForm reads the members from Query parameters.
func (c *Shape) DecodeForm(f *Form, into any) error { return c.decodeNode(&f.root, into) }

func (c *Shape) decodeNode(n *formNode, into any) error {
	for _, m := range c.members {
		if err := m.decodeForm(n, into); err != nil {
			return err
		}
	}
	return nil
}

// AppendJSON appends the structure as a JSON object, without absent members and empty collections (AWS).
func (c *Shape) AppendJSON(dst []byte, v any) []byte {
	dst = append(dst, '{')
	first := true
	for i, m := range c.members {
		if !m.present(v) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), c.names[i]...), '"', ':')
		dst = m.appendJSON(dst, v)
	}
	return append(dst, '}')
}

func (c *Shape) appendXMLMembers(dst []byte, v any) []byte {
	for _, m := range c.members {
		if m.present(v) {
			dst = m.appendXML(dst, v)
		}
	}
	return dst
}

// AppendXML appends a complete answer of the Query protocol, without a result element for structures
// without members.
func (c *Shape) AppendXML(dst []byte, namespace, action, requestID string, v any) []byte {
	dst = append(dst, xmlProlog...)
	dst = append(append(append(dst, '<'), action...), `Response xmlns="`...)
	dst = append(append(dst, namespace...), `">`...)
	if len(c.members) > 0 || c.result {
		dst = append(append(append(dst, '<'), action...), "Result"...)
		mark := len(dst)
		dst = c.appendXMLMembers(append(dst, '>'), v)
		if len(dst) == mark+1 {
			dst = append(dst[:mark], '/', '>')
		} else {
			dst = append(append(append(dst, '<', '/'), action...), "Result>"...)
		}
	}
	dst = append(dst, "<ResponseMetadata>"...)
	dst = appendElement(dst, "RequestId", requestID)
	dst = append(dst, "</ResponseMetadata>"...)
	return append(append(append(dst, '<', '/'), action...), "Response>"...)
}
