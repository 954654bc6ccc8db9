package grpc

import (
	"maps"
	"math"
	"slices"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// definitionOf returns the rule of a request. The command checks it.
func definitionOf(r *seriatimpb.Rule) rules.Definition {
	d := rules.Definition{Name: r.GetName(), Kind: rules.KindTrue, Action: expressionOf(r.GetAction())}
	switch f := r.GetFilter().(type) {
	case *seriatimpb.Rule_All:
		if !f.All {
			d.Kind = rules.KindFalse
		}
	case *seriatimpb.Rule_Sql:
		d.Kind, d.SQL = rules.KindSQL, expressionOf(f.Sql)
	case *seriatimpb.Rule_Correlation:
		d.Kind, d.Application = rules.KindCorrelation, parametersOf(f.Correlation.GetApplication())
		for _, name := range slices.Sorted(maps.Keys(f.Correlation.GetSystem())) {
			d.System = append(d.System, rules.NewParameter(name, property.String(f.Correlation.GetSystem()[name])))
		}
	}
	return d
}

func expressionOf(x *seriatimpb.RuleExpression) *rules.Expression {
	if x == nil {
		return nil
	}
	return &rules.Expression{Text: x.GetText(), Parameters: parametersOf(x.GetParameters())}
}

func parametersOf(given map[string]*seriatimpb.PropertyValue) (list []rules.Parameter) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list = append(list, rules.Parameter{Name: name, Value: encodedValue(given[name])})
	}
	return list
}

// encodedValue returns a value in its AMQP encoding, which may be invalid.
func encodedValue(v *seriatimpb.PropertyValue) string {
	var typed property.Value
	switch x := v.GetValue().(type) {
	case *seriatimpb.PropertyValue_Text:
		typed = property.String(x.Text)
	case *seriatimpb.PropertyValue_Integer:
		typed = property.Long(x.Integer)
	case *seriatimpb.PropertyValue_Number:
		typed = property.DoubleBits(math.Float64bits(x.Number))
	case *seriatimpb.PropertyValue_Boolean:
		typed = property.Boolean(x.Boolean)
	case *seriatimpb.PropertyValue_Amqp:
		return string(x.Amqp)
	}
	return string(property.Append(nil, typed))
}

// valueOf returns a value for a client, nil for none.
func valueOf(v property.Value) *seriatimpb.PropertyValue {
	switch v.Type() {
	case property.TypeNone:
		return nil
	case property.TypeString:
		return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Text{Text: v.Str()}}
	case property.TypeLong:
		return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Integer{Integer: v.Long()}}
	case property.TypeDouble:
		return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Number{Number: math.Float64frombits(v.Bits())}}
	case property.TypeBoolean:
		return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Boolean{Boolean: v.Bool()}}
	default:
		return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Amqp{Amqp: property.Append(nil, v)}}
	}
}

// ruleOf returns a rule for a client.
func ruleOf(d *rules.Definition) *seriatimpb.Rule {
	r := &seriatimpb.Rule{Name: d.Name, Action: textOf(d.Action)}
	switch d.Kind {
	case rules.KindSQL:
		r.Filter = &seriatimpb.Rule_Sql{Sql: textOf(d.SQL)}
	case rules.KindCorrelation:
		c := &seriatimpb.RuleConditions{System: map[string]string{}, Application: valuesOf(d.Application)}
		for _, p := range d.System {
			v, _ := property.Decode(p.Value) // the state has no others
			c.System[p.Name] = v.Str()
		}
		r.Filter = &seriatimpb.Rule_Correlation{Correlation: c}
	default:
		r.Filter = &seriatimpb.Rule_All{All: d.Kind == rules.KindTrue}
	}
	return r
}

func textOf(x *rules.Expression) *seriatimpb.RuleExpression {
	if x == nil {
		return nil
	}
	return &seriatimpb.RuleExpression{Text: x.Text, Parameters: valuesOf(x.Parameters)}
}

func valuesOf(list []rules.Parameter) map[string]*seriatimpb.PropertyValue {
	out := make(map[string]*seriatimpb.PropertyValue, len(list))
	for _, p := range list {
		v, _ := property.Decode(p.Value) // the state has no others
		out[p.Name] = valueOf(v)
	}
	return out
}

// tested is a message for the test of a rule.
type tested struct{ *property.Set }

// NewID returns the number of the id.
func (tested) NewID(n int) (id [16]byte) {
	id[15] = byte(n)
	return id
}

// testedOf returns the message of a test.
func testedOf(in *seriatimpb.TestRulesRequest) (tested, error) {
	system := map[property.System]property.Value{}
	for name, given := range in.GetSystem() {
		of, known := property.ParseSystem(name)
		if !known {
			return tested{}, refusal.InvalidValue(name, "system", "There is no such system property.")
		}
		v, err := property.Decode(encodedValue(given))
		converted, ok := property.Convert(v, of.Type())
		if err != nil || !ok {
			return tested{}, refusal.InvalidValue(name, "system", "Its value does not have the type of the property.")
		}
		system[of] = converted
	}
	var application []property.Named
	for name, given := range in.GetApplication() {
		v, err := property.Decode(encodedValue(given))
		if err != nil {
			return tested{}, refusal.InvalidValue(name, "application", "The encoding of its value is wrong.")
		}
		application = append(application, property.Named{Name: name, Value: v})
	}
	return tested{property.NewSet(system, application)}, nil
}

func explanationOf(x *rules.Explanation) *seriatimpb.RuleExplanation {
	out := &seriatimpb.RuleExplanation{Text: x.Text, Result: x.Result.String(), Reason: x.Reason}
	if len(x.Values) > 0 {
		out.Values = map[string]*seriatimpb.PropertyValue{}
	}
	for _, n := range x.Values {
		out.Values[n.Name] = valueOf(n.Value)
	}
	for i := range x.Parts {
		out.Parts = append(out.Parts, explanationOf(&x.Parts[i]))
	}
	return out
}

func changeOf(c *property.Change) *seriatimpb.RuleChange {
	out := &seriatimpb.RuleChange{Name: c.Name, Value: valueOf(c.Value)}
	if c.System != property.SystemNone {
		out.Name = "sys." + c.System.String()
	}
	return out
}
