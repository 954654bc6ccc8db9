package rules

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/property"
)

// Truth is the result of a condition.
type Truth uint8

// The results. A filter selects a message if it is True.
const (
	Unknown Truth = iota
	False
	True
)

// String returns the name of the result.
func (t Truth) String() string {
	if t <= True {
		return [...]string{"unknown", "false", "true"}[t]
	}
	return "invalid"
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

// not negates a result. Unknown remains unknown.
func (t Truth) not() Truth {
	switch t {
	case False:
		return True
	case True:
		return False
	default:
		return Unknown
	}
}

func (t Truth) negatedIf(negated bool) Truth {
	if negated {
		return t.not()
	}
	return t
}

// Message has the properties of a message.
type Message interface {
	// System returns a system property. It is none if it has no value.
	System(s property.System) property.Value
	// Application returns an application property by its name in any letter case, as
	// [property.Set.Application] does.
	Application(name string) property.Value
	// NewID returns the n-th id of newid(), from 0, for one rule and one message. It is the same on
	// every replica.
	NewID(n int) [16]byte
}

// stepsMax bounds the work of one evaluation: comparisons of characters that a pattern of LIKE
// repeats, and copies of strings.
const stepsMax = 1 << 18

// bytesPerStep is the number of bytes that one step copies.
const bytesPerStep = 16

// evaluator evaluates the expressions of one rule for one message. After a fault, results have no
// meaning.
type evaluator struct {
	message Message
	ids     int
	steps   int
	fault   property.Fault
}

// value evaluates a value. It is none if it is unknown.
func (e *evaluator) value(n *node) property.Value {
	switch n.op {
	case opConstant, opParameter:
		return n.value
	case opApplication:
		return e.message.Application(n.name)
	case opSystem:
		return e.message.System(n.system)
	case opNewID:
		return e.newID()
	case opProperty:
		if name := e.value(&n.operands[0]); name.Kind() == property.KindString {
			return e.message.Application(name.Str())
		}
		return property.Value{}
	case opNegate:
		v, fault := property.Negate(e.value(&n.operands[0]))
		e.raise(fault)
		return v
	case opPositive:
		if v := e.value(&n.operands[0]); property.Signed(v) {
			return v
		}
		return property.Value{}
	default:
		return e.arithmetic(n)
	}
}

// raise keeps the first fault.
func (e *evaluator) raise(fault property.Fault) {
	if e.fault == property.OK {
		e.fault = fault
	}
}

// arithmetic evaluates a chain of operators from left to right.
func (e *evaluator) arithmetic(n *node) property.Value {
	a := e.value(&n.operands[0])
	if e.fault != property.OK {
		return property.Value{}
	}
	b := e.value(&n.operands[1])
	v, fault := property.Apply(n.operator, a, b)
	e.raise(fault)
	if v.Kind() == property.KindString {
		e.spend(len(v.Str()) / bytesPerStep)
	}
	return v
}

// spend counts steps.
func (e *evaluator) spend(steps int) {
	if e.steps += steps; e.steps > stepsMax {
		e.raise(property.TooMuchWork)
	}
}

// newID returns a GUID of version 4.
func (e *evaluator) newID() property.Value {
	id := e.message.NewID(e.ids)
	e.ids++
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return property.GUID(id)
}

// test evaluates a condition.
func (e *evaluator) test(n *node) Truth {
	switch n.op {
	case opAnd:
		return e.all(n.operands, False)
	case opOr:
		return e.all(n.operands, True)
	case opNot:
		return e.test(&n.operands[0]).not()
	case opExists:
		operand := &n.operands[0]
		kind := e.value(operand).Kind()
		return truth(kind > property.KindNull || kind == property.KindNull && operand.op == opApplication)
	case opIsNull:
		return truth((e.value(&n.operands[0]).Kind() <= property.KindNull) != n.negated)
	case opIn:
		return e.in(n).negatedIf(n.negated)
	case opLike:
		return e.like(n).negatedIf(n.negated)
	default: // opCompare
		a := e.value(&n.operands[0])
		return n.relation.holds(a, e.value(&n.operands[1]))
	}
}

// all evaluates the operands of AND, which False decides, or of OR, which True decides.
func (e *evaluator) all(operands []node, deciding Truth) Truth {
	result := deciding.not()
	for i := range operands {
		t := e.test(&operands[i])
		if e.fault != property.OK {
			return Unknown
		}
		if t == deciding {
			return t
		}
		if t == Unknown {
			result = Unknown
		}
	}
	return result
}

// holds reports whether two values have a relation.
func (r relation) holds(a, b property.Value) Truth {
	order := property.Compare(a, b)
	if order == property.Incomparable {
		return Unknown
	}
	if r > unequal && !property.Ordered(a.Kind()) {
		return Unknown
	}
	switch r {
	case equal:
		return truth(order == property.Same)
	case unequal:
		return truth(order != property.Same)
	case less:
		return truth(order == property.Less)
	case lessOrEqual:
		return truth(order == property.Less || order == property.Same)
	case greater:
		return truth(order == property.Greater)
	default: // greaterOrEqual
		return truth(order == property.Greater || order == property.Same)
	}
}

func (e *evaluator) in(n *node) Truth {
	v := e.value(&n.operands[0])
	if e.fault != property.OK || v.Kind() <= property.KindNull {
		return Unknown
	}
	result := False
	for i := range n.operands[1:] {
		t := equal.holds(v, e.value(&n.operands[i+1]))
		if e.fault != property.OK || t == True {
			return t
		}
		if t == Unknown {
			result = Unknown
		}
	}
	return result
}

func (e *evaluator) like(n *node) Truth {
	v := e.value(&n.operands[0])
	p := n.pattern
	if p == nil {
		if p = e.pattern(n); p == nil {
			return Unknown
		}
	}
	if v.Kind() != property.KindString {
		return Unknown
	}
	steps := 0
	matched := p.match(v.Str(), &steps)
	e.spend(steps)
	return truth(matched)
}

// pattern compiles a pattern that is not constant. It is nil if the pattern is unknown.
func (e *evaluator) pattern(n *node) *pattern {
	v := e.value(&n.operands[1])
	var escape property.Value
	if len(n.operands) > 2 {
		escape = e.value(&n.operands[2])
		if _, ok := escapeRune(escape); !ok {
			return nil
		}
	}
	if v.Kind() != property.KindString {
		return nil
	}
	e.spend(len(v.Str()))
	p, ok := compile(strings.ToValidUTF8(v.Str(), "\ufffd"), escape)
	if !ok {
		return nil
	}
	return p
}
