package awswire

// Within puts the elements of a list or a map into an element of their own, as SNS does:
// Tags.member.1 in a request, <Tags><member>..</member></Tags> in an answer, where outer is
// Tags. In answers it is written also when there is nothing in it.
func Within[T any](outer string, m Member[T]) Member[T] { return withinMember[T]{m, outer} }

type withinMember[T any] struct {
	Member[T]
	outer string
}

func (m withinMember[T]) info() MemberInfo {
	info := m.Member.info()
	info.Query = m.outer + "." + info.Query
	return info
}

func (m withinMember[T]) decodeForm(n *formNode, into *T) error {
	if inner := n.children[m.outer]; inner != nil {
		return m.Member.decodeForm(inner, into)
	}
	return nil
}

func (withinMember[T]) present(*T) bool { return true }

func (m withinMember[T]) appendXML(dst []byte, v *T) []byte {
	dst = appendOpen(dst, m.outer)
	dst = m.Member.appendXML(dst, v)
	return appendClose(dst, m.outer)
}
