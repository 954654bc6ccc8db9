package awswire

// Within wraps the elements of a list or a map in the element outer, as SNS does: Tags.member.1 in a
// request, <Tags><member>..</member></Tags> in an answer. Answers have it also when empty.
func Within[T any](outer string, m Member[T]) Member[T] {
	return Member[T]{is: withinMember{m.is, outer}}
}

type withinMember struct {
	member
	outer string
}

func (m withinMember) info() MemberInfo {
	info := m.member.info()
	info.Query = m.outer + "." + info.Query
	return info
}

func (m withinMember) decodeForm(n *formNode, into any) error {
	if inner := n.children[m.outer]; inner != nil {
		return m.member.decodeForm(inner, into)
	}
	return nil
}

func (withinMember) present(any) bool { return true }

func (m withinMember) appendXML(dst []byte, v any) []byte {
	dst = appendOpen(dst, m.outer)
	dst = m.member.appendXML(dst, v)
	return appendClose(dst, m.outer)
}
