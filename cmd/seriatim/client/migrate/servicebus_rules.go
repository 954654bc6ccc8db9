package migrate

import (
	"math"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

// rules returns the rules of a subscription, nil for the default rule alone. A rule that is refused here
// is left out.
func (c *converter) rules(path string, e *description.Entity) *[]ruletext.Rule {
	if !e.HasRules() {
		return nil
	}
	list := []ruletext.Rule{}
	for i := range e.Rules {
		d := &e.Rules[i]
		if _, err := d.InCanonicalForm(); err != nil {
			c.notes = append(c.notes, "the rule "+d.Name+" of "+path+" is left out: "+err.Error())
			continue
		}
		list = append(list, ruleOf(d))
	}
	return &list
}

func ruleOf(d *rules.Definition) ruletext.Rule {
	r := ruletext.Rule{Name: d.Name}
	switch d.Kind {
	case rules.KindSQL:
		r.SQL, r.Parameters = d.SQL.Text, textsOf("", d.SQL.Parameters)
	case rules.KindCorrelation:
		r.Where = append(textsOf("sys.", d.System), textsOf("", d.Application)...)
	default:
		r.All = new(d.Kind == rules.KindTrue)
	}
	if d.Action != nil {
		r.Action, r.ActionParameters = d.Action.Text, textsOf("", d.Action.Parameters)
	}
	return r
}

func textsOf(prefix string, list []rules.Parameter) (texts []string) {
	for _, p := range list {
		v, _ := property.Decode(p.Value) // the rule is valid
		texts = append(texts, ruletext.FormatProperty(prefix+p.Name, valueOf(v)))
	}
	return texts
}

// valueOf returns a value. Rules do not tell widths of numbers apart, nor symbols from strings.
func valueOf(v property.Value) *client.PropertyValue {
	switch kind := v.Kind(); {
	case kind == property.KindString && v.Type() != property.TypeURI:
		return &client.PropertyValue{Value: &client.TextValue{Text: v.Str()}}
	case kind == property.KindLong:
		return &client.PropertyValue{Value: &client.IntegerValue{Integer: v.Long()}}
	case kind == property.KindDouble:
		return &client.PropertyValue{Value: &client.NumberValue{Number: math.Float64frombits(v.Bits())}}
	case kind == property.KindBoolean:
		return &client.PropertyValue{Value: &client.BooleanValue{Boolean: v.Bool()}}
	}
	return &client.PropertyValue{Value: &client.EncodedValue{Amqp: property.Append(nil, v)}}
}
