package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/property"
)

// Action changes properties of a message. It is immutable and safe for concurrent use.
type Action struct {
	statements []statement
	text       string
	parameters []property.Named
}

// statement is SET, or REMOVE without a value.
type statement struct {
	target node
	value  *node
}

// ParseAction parses the statements of an action, at most LengthMax characters and StatementsMax
// statements, with the values of its parameters.
func ParseAction(text string, parameters []property.Named) (*Action, error) {
	return parseAction(text, parameters, false)
}

// RestoreAction parses the canonical text of an action.
func RestoreAction(canonical string, parameters []property.Named) (*Action, error) {
	return parseAction(canonical, parameters, true)
}

func parseAction(text string, parameters []property.Named, canonical bool) (*Action, error) {
	parameters, err := checkParameters(parameters)
	if err != nil {
		return nil, err
	}
	p, err := newParser(text, parameters, canonical)
	if err != nil {
		return nil, err
	}
	a := &Action{parameters: parameters}
	for p.err == nil {
		if len(a.statements) == StatementsMax {
			p.fail(p.at, p.at+1, "an action can have "+strconv.Itoa(StatementsMax)+" statements")
			break
		}
		a.statements = append(a.statements, p.statement())
		comma := p.accept(",")
		if !comma {
			p.accept(";")
		}
		if t := p.peek(); t.kind == tokenEnd && !comma {
			break
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	texts := make([]string, len(a.statements))
	for i := range a.statements {
		texts[i] = a.statements[i].text()
	}
	a.text = strings.Join(texts, "; ")
	return a, nil
}

func (p *parser) statement() statement {
	set := p.accept("SET")
	if !set && !p.accept("REMOVE") {
		p.unexpected("SET or REMOVE")
		return statement{}
	}
	from := p.at
	s := statement{target: p.property()}
	if p.err == nil && s.target.op == opSystem && !s.target.system.Settable() {
		p.fail(from, p.at, "the system property is read-only")
	}
	if !set {
		return s
	}
	p.expect("=")
	from = p.at
	n := p.value(p.sum)
	s.value = &n
	if p.err == nil && n.isConstant() && s.target.op == opSystem {
		if _, ok := property.Convert(n.value, s.target.system.Type()); !ok {
			p.fail(from, p.at, "the system property cannot have this value; its type is "+s.target.system.Type().String())
		}
	}
	return s
}

func (s *statement) text() string {
	if s.value == nil {
		return "REMOVE " + s.target.text()
	}
	return "SET " + s.target.text() + " = " + s.value.text()
}

// String returns the canonical text.
func (a *Action) String() string { return a.text }

// Parameters returns the parameters, sorted by name. Names begin with @.
func (a *Action) Parameters() []property.Named { return slices.Clone(a.parameters) }

// Evaluate evaluates the statements in order; each sees the changes of those before. There is one
// change for a property. A fault means that the action fails as a whole.
func (a *Action) Evaluate(m Message) ([]property.Change, property.Fault) {
	changed := overlay{Message: m}
	e := evaluator{message: &changed}
	for i := range a.statements {
		s := &a.statements[i]
		c := property.Change{System: s.target.system, Name: s.target.name}
		if s.value != nil {
			v := e.value(s.value)
			if e.fault != property.OK {
				return nil, e.fault
			}
			var ok bool
			if c.Value, ok = changed.converted(c, v); !ok {
				return nil, property.WrongType
			}
		}
		changed.add(c)
	}
	return changed.changes, property.OK
}

// overlay is a message with changes.
type overlay struct {
	Message
	changes []property.Change
}

// find returns the change to a property, nil if there is none.
func (o *overlay) find(system property.System, name string) *property.Change {
	for i := range o.changes {
		if c := &o.changes[i]; c.System == system && lettercase.Equal(c.Name, name) {
			return c
		}
	}
	return nil
}

// System returns a system property after the changes.
func (o *overlay) System(s property.System) property.Value {
	if c := o.find(s, ""); c != nil {
		return c.Value
	}
	return o.Message.System(s)
}

// Application returns an application property after the changes.
func (o *overlay) Application(name string) property.Value {
	if c := o.find(property.SystemNone, name); c != nil {
		return c.Value
	}
	return o.Message.Application(name)
}

// converted returns the value for a property: of the type that the property has, if possible. It is
// not ok if a system property cannot have the value.
func (o *overlay) converted(c property.Change, v property.Value) (property.Value, bool) {
	known := v.Kind() > property.KindNull
	if c.System != property.SystemNone {
		if !known {
			return property.Value{}, true
		}
		return property.Convert(v, c.System.Type())
	}
	if !known {
		return property.Null, true
	}
	if existing := o.Application(c.Name); existing.Kind() > property.KindNull {
		if converted, ok := property.Convert(v, existing.Type()); ok {
			return converted, true
		}
	}
	return v, true
}

// add adds a change, or replaces that to the same property.
func (o *overlay) add(c property.Change) {
	if earlier := o.find(c.System, c.Name); earlier != nil {
		earlier.Value = c.Value
		return
	}
	o.changes = append(o.changes, c)
}
