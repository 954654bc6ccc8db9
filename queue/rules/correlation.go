package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/property"
)

// ConditionsMax bounds the conditions of a correlation filter; ours.
const ConditionsMax = 100

// SystemCondition requires the value of a system property.
type SystemCondition struct {
	Property property.System
	Value    string
}

// CorrelationFilter requires exact values of properties.
type CorrelationFilter struct {
	system      []SystemCondition // sorted by property
	application []property.Named  // sorted by folded name
}

// correlated are the system properties that a correlation filter can require.
var correlated = []property.System{
	property.CorrelationID, property.MessageID, property.To, property.ReplyTo, property.Label, property.SessionID,
	property.ReplyToSessionID, property.ContentType,
}

// NewCorrelationFilter returns a filter that selects a message if all conditions are true.
func NewCorrelationFilter(system []SystemCondition, application []property.Named) (*CorrelationFilter, error) {
	if len(system)+len(application) == 0 {
		return nil, errors.New("a correlation filter needs a condition")
	}
	if len(system)+len(application) > ConditionsMax {
		return nil, errors.New("a correlation filter can have " + strconv.Itoa(ConditionsMax) + " conditions")
	}
	f := &CorrelationFilter{slices.Clone(system), slices.Clone(application)}
	slices.SortFunc(f.system, func(a, b SystemCondition) int { return int(a.Property) - int(b.Property) })
	for i, c := range f.system {
		switch {
		case !slices.Contains(correlated, c.Property):
			return nil, errors.New("a correlation filter cannot have a condition for sys." + c.Property.String())
		case i > 0 && f.system[i-1].Property == c.Property:
			return nil, errors.New("the correlation filter has two conditions for sys." + c.Property.String())
		}
		if problem := checkValue(property.String(c.Value)); problem != "" {
			return nil, errors.New("the value of sys." + c.Property.String() + " is invalid: " + problem)
		}
	}
	slices.SortFunc(f.application, func(a, b property.Named) int { return lettercase.Compare(a.Name, b.Name) })
	for i, c := range f.application {
		problem := checkValue(c.Value)
		switch {
		case checkValue(property.String(c.Name)) != "" || c.Name == "":
			return nil, errors.New("the correlation filter has an invalid name of a property")
		case i > 0 && lettercase.Equal(f.application[i-1].Name, c.Name):
			return nil, errors.New("the correlation filter has two conditions for " + shortened(c.Name))
		case c.Value.Kind() == property.KindNull:
			problem = "it is null"
		}
		if problem != "" {
			return nil, errors.New("the value of " + shortened(c.Name) + " is invalid: " + problem)
		}
	}
	return f, nil
}

// System returns the conditions for system properties, sorted by property.
func (f *CorrelationFilter) System() []SystemCondition { return slices.Clone(f.system) }

// Application returns the conditions for application properties, sorted by name.
func (f *CorrelationFilter) Application() []property.Named { return slices.Clone(f.application) }

// Evaluate returns the result for a message. It is never unknown.
func (f *CorrelationFilter) Evaluate(m Message) (Truth, property.Fault) {
	for i := range f.system {
		if c := &f.system[i]; !c.met(m.System(c.Property)) {
			return False, property.OK
		}
	}
	for i := range f.application {
		if c := &f.application[i]; !same(c.Value, m.Application(c.Name)) {
			return False, property.OK
		}
	}
	return True, property.OK
}

func (c *SystemCondition) met(v property.Value) bool {
	return v.Kind() == property.KindString && v.Str() == c.Value
}

// same reports whether two values have one kind and are equal.
func same(a, b property.Value) bool {
	return a.Kind() == b.Kind() && property.Compare(a, b) == property.Same
}

// Explain returns a part for each condition.
func (f *CorrelationFilter) Explain(m Message) Explanation {
	x := Explanation{Text: f.String()}
	x.Result, _ = f.Evaluate(m)
	for i := range f.system {
		c := &f.system[i]
		v := m.System(c.Property)
		name := "sys." + c.Property.String()
		x.Parts = append(x.Parts, Explanation{Text: c.text(), Result: truth(c.met(v)), Values: []property.Named{{Name: name, Value: v}}})
	}
	for i := range f.application {
		c := f.application[i]
		v := m.Application(c.Name)
		part := Explanation{Text: conditionText(c), Result: truth(same(c.Value, v)), Values: []property.Named{{Name: c.Name, Value: v}}}
		if v.Kind() > property.KindNull && v.Kind() != c.Value.Kind() {
			part.Reason = c.Name + " is " + v.Kind().String() + ", not " + c.Value.Kind().String()
		}
		x.Parts = append(x.Parts, part)
	}
	return x
}

func (c *SystemCondition) text() string {
	n := node{op: opSystem, system: c.Property}
	return n.text() + " = " + literal(property.String(c.Value))
}

func conditionText(c property.Named) string {
	n := node{op: opApplication, name: c.Name}
	return n.text() + " = " + literal(c.Value)
}

// literal returns a value for people: as a constant if the grammar has one for its kind.
func literal(v property.Value) string {
	switch v.Kind() {
	case property.KindNull, property.KindString, property.KindBoolean, property.KindDouble, property.KindLong, property.KindDecimal:
		n := node{op: opConstant, value: v}
		return n.text()
	default:
		return v.Text()
	}
}

// String returns the conditions as SQL, for people.
func (f *CorrelationFilter) String() string {
	var texts []string
	for i := range f.system {
		texts = append(texts, f.system[i].text())
	}
	for _, c := range f.application {
		texts = append(texts, conditionText(c))
	}
	return strings.Join(texts, " AND ")
}
