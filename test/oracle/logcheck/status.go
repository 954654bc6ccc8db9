package logcheck

import "github.com/seriatimq/seriatim/test/oracle/history"

// addStatus checks I13(c), at most one leader in a term, and I13(f), the term of a node never
// decreases, with the status of nodes.
func (w *Checker) addStatus(e *history.Event) {
	s := e.Status
	if s == nil || s.Term == 0 {
		return
	}
	w.count("looks at nodes", 1)
	if s.Role == "leader" {
		if other, known := w.leaders[s.Term]; known && other != e.Node {
			w.violate("W", "I13", 0, e, "%s and %s lead in term %d (I13c)", other, e.Node, s.Term)
		}
		w.leaders[s.Term] = e.Node
	}
	if before := w.terms[e.Node]; s.Term < before {
		w.violate("W", "I13", 0, e, "the term of %s fell from %d to %d (I13f)", e.Node, before, s.Term)
	}
	w.terms[e.Node] = s.Term
}
