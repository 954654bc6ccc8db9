package jsontext

// builder parses a text into the nodes of a tree.
type builder struct {
	Scanner
	nodes []node
}

// value reads any value.
func (b *builder) value() (err error) {
	kind := b.Kind()
	i, start := len(b.nodes), b.pos
	b.nodes = append(b.nodes, node{})
	switch kind {
	case KindObject:
		err = b.members()
	case KindArray:
		err = b.Array(b.value)
	case KindString, KindNumber:
		err = b.scalar(kind)
	case KindTrue, KindFalse, KindNull:
		err = b.Word(kind)
	default:
		err = b.ExpectedValue()
	}
	b.nodes[i] = node{start: uint32(start), end: uint32(b.pos), next: uint32(len(b.nodes)), kind: kind}
	return err
}

// scalar reads a string or a number. Errors point to the beginning of the value.
func (b *builder) scalar(kind Kind) (err error) {
	start := b.pos
	if kind == KindString {
		_, err = b.quoted(false)
	} else {
		_, _, err = b.Number()
	}
	if err != nil {
		err.(*SyntaxError).Offset = start
	}
	return err
}

// members reads an object.
func (b *builder) members() error {
	if err := b.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := b.next(first, '}')
		if err != nil || !more {
			return err
		}
		if b.Peek() != '"' {
			return b.fail("expected a member name")
		}
		start := b.pos
		if err := b.scalar(KindString); err != nil {
			return err
		}
		b.nodes = append(b.nodes, node{start: uint32(start), end: uint32(b.pos), next: uint32(len(b.nodes) + 1), kind: KindString})
		if err := b.colon(); err != nil {
			return err
		}
		if err := b.value(); err != nil {
			return err
		}
	}
}
