package rules

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/property"
)

// Explanation is the result of a part of a filter.
type Explanation struct {
	Text   string // canonical
	Result Truth
	// Reason says why the result is unknown, or which fault there was.
	Reason string
	// Values are the properties in a part that has no further parts.
	Values []property.Named
	Parts  []Explanation // of AND, OR, NOT and correlation filters
}

// Report is the result of a rule for one message.
type Report struct {
	// Selected reports whether the rule selects the message.
	Selected    bool
	Fault       property.Fault // of the filter
	Explanation Explanation
	Changes     []property.Change // of the action, if the message is selected
	ActionFault property.Fault    // of the action, if the message is selected
}

// Test evaluates a rule for one message and explains the result. The action can be nil.
func Test(f Filter, a *Action, m Message) Report {
	result, fault := f.Evaluate(m)
	r := Report{Selected: result == True, Fault: fault, Explanation: f.Explain(m)}
	if r.Selected && a != nil {
		r.Changes, r.ActionFault = a.Evaluate(m)
	}
	return r
}

// Explain evaluates each part by itself. So it also has results of parts that Evaluate skips.
func (f *SQLFilter) Explain(m Message) Explanation { return explain(&f.root, m) }

func explain(n *node, m Message) Explanation {
	x := Explanation{Text: n.text()}
	e := evaluator{message: m}
	x.Result = e.test(n)
	if e.fault != property.OK {
		x.Result = Unknown
		x.Reason = "the evaluation fails: " + e.fault.String()
	}
	if n.op == opAnd || n.op == opOr || n.op == opNot {
		for i := range n.operands {
			x.Parts = append(x.Parts, explain(&n.operands[i], m))
		}
		return x
	}
	x.collect(n, m)
	if x.Result == Unknown && x.Reason == "" {
		x.Reason = x.reason(n, m)
	}
	return x
}

// collect adds the properties below a node, each once.
func (x *Explanation) collect(n *node, m Message) {
	if n.op == opApplication || n.op == opSystem || n.op == opProperty {
		e := evaluator{message: m}
		named := property.Named{Name: n.text(), Value: e.value(n)}
		if !slices.Contains(x.Values, named) {
			x.Values = append(x.Values, named)
		}
	}
	for i := range n.operands {
		x.collect(&n.operands[i], m)
	}
}

// reason says why a condition is unknown.
func (x *Explanation) reason(n *node, m Message) string {
	for _, v := range x.Values {
		if kind := v.Value.Kind(); kind == property.KindNone {
			return "the message has no " + v.Name
		} else if kind == property.KindNull {
			return v.Name + " is null"
		}
	}
	e := evaluator{message: m}
	first := e.value(&n.operands[0]).Kind()
	for i := range n.operands[1:] {
		second := e.value(&n.operands[i+1]).Kind()
		switch {
		case n.op == opLike && first != property.KindString:
			return "LIKE takes strings, not " + first.String()
		case n.op == opLike && second != property.KindString:
			return "LIKE takes strings, not " + second.String()
		case first <= property.KindNull || second <= property.KindNull:
			return "an operand is unknown"
		case n.op != opLike && first != second:
			return first.String() + " and " + second.String() + " have no relation"
		}
	}
	if n.op == opLike {
		return "the pattern or its escape character is invalid"
	}
	return "values such as " + first.String() + " have no order"
}
