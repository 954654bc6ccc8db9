package awswire

// Schema describes one structure for both protocols. It is made once and never
// changed, so it is safe for concurrent use.
type Schema[T any] struct {
	members []Member[T]
	names   []string // JSON names, in the order of members
	result  bool     // an answer has a result element, though there are no members
}

// Member is one member of a structure T: its names and how it is read and
// written. Members are made by String, Integer and the like.
type Member[T any] interface {
	info() MemberInfo
	// decodeJSON reads the value at the scanner; it is not null.
	decodeJSON(s *scanner, into *T) error
	// decodeForm reads the member from the node of the structure.
	decodeForm(n *formNode, into *T) error
	// present says whether the member is written.
	present(v *T) bool
	// appendJSON writes the value without its name.
	appendJSON(dst []byte, v *T) []byte
	// appendNegotiated writes the value as a Query request that accepts JSON
	// wants it.
	appendNegotiated(dst []byte, v *T) []byte
	// appendXML writes complete elements.
	appendXML(dst []byte, v *T) []byte
}

// Structure makes a Schema. Members are written in the order given.
func Structure[T any](members ...Member[T]) *Schema[T] {
	c := &Schema[T]{members: members, names: make([]string, len(members))}
	for i, m := range members {
		c.names[i] = m.info().Name
	}
	return c
}

// EmptyResult makes the Schema of an output that the model of its service has, without
// members: SDKs look for its result element.
func EmptyResult[T any]() *Schema[T] { return &Schema[T]{result: true} }

// Members describes the members in order.
func (c *Schema[T]) Members() []MemberInfo {
	out := make([]MemberInfo, len(c.members))
	for i, m := range c.members {
		out[i] = m.info()
	}
	return out
}

// Empty reports whether the structure has no members.
func (c *Schema[T]) Empty() bool { return len(c.members) == 0 }

// DecodeJSON reads one JSON object. An empty text counts as {}. Unknown
// members are ignored, and null equals absent.
func (c *Schema[T]) DecodeJSON(text string, into *T) error {
	s := &scanner{text: text}
	if s.peek() == 0 && s.pos == len(text) {
		return nil
	}
	if err := c.decodeObject(s, into); err != nil {
		return err
	}
	return s.end()
}

func (c *Schema[T]) decodeObject(s *scanner, into *T) error {
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
		return s.skip()
	})
}

// DecodeForm reads the members from Query parameters.
func (c *Schema[T]) DecodeForm(f *Form, into *T) error { return c.decodeNode(&f.root, into) }

func (c *Schema[T]) decodeNode(n *formNode, into *T) error {
	for _, m := range c.members {
		if err := m.decodeForm(n, into); err != nil {
			return err
		}
	}
	return nil
}

// AppendJSON appends the structure as a JSON object. Absent members and empty
// collections are left out, as AWS does.
func (c *Schema[T]) AppendJSON(dst []byte, v *T) []byte {
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

func (c *Schema[T]) appendXMLMembers(dst []byte, v *T) []byte {
	for _, m := range c.members {
		if m.present(v) {
			dst = m.appendXML(dst, v)
		}
	}
	return dst
}

// AppendXML appends a complete answer of the Query protocol. The result
// element is left out for structures without members.
func (c *Schema[T]) AppendXML(dst []byte, namespace, action, requestID string, v *T) []byte {
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
