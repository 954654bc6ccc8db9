package document

import (
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

// Types of filters and actions.
const (
	trueFilter        = "TrueFilter"
	falseFilter       = "FalseFilter"
	sqlFilter         = "SqlFilter"
	correlationFilter = "CorrelationFilter"
	noAction          = "EmptyRuleAction"
	sqlAction         = "SqlRuleAction"
)

// compatibilityLevel is the version of the vendor's SQL.
const compatibilityLevel = "20"

// correlated has the system properties of a correlation filter in the order of descriptions.
var correlated = [...]property.System{
	property.CorrelationID, property.MessageID, property.To, property.ReplyTo, property.Label, property.SessionID,
	property.ReplyToSessionID, property.ContentType,
}

// ReadRule reads the description of a rule. Without a filter, the rule selects all messages. Without a
// name, it is the default rule.
func ReadRule(e *Element) (d rules.Definition, err error) {
	d = rules.Definition{Name: rules.DefaultName, Kind: rules.KindTrue}
	for i := range e.Children {
		part := &e.Children[i]
		switch part.XMLName.Local {
		case "Filter":
			err = readFilter(&d, part)
		case "Action":
			d.Action, err = readAction(part)
		case "Name":
			if name := part.Value(); name != "" {
				d.Name = name
			}
		case "CreatedAt", "Tag":
		default:
			err = unknown("a rule", part)
		}
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

func refuse(text string) error { return &description.Refused{Property: "RuleDescription", Text: text} }

func unknown(of string, e *Element) error {
	return refuse("The description of " + of + " has no element " + e.XMLName.Local + ".")
}

func readFilter(d *rules.Definition, e *Element) (err error) {
	switch of := e.typeName(); {
	case e.isNil():
	case of == trueFilter:
		d.Kind = rules.KindTrue
	case of == falseFilter:
		d.Kind = rules.KindFalse
	case of == sqlFilter:
		d.Kind = rules.KindSQL
		d.SQL, err = readExpression("a SQL filter", e)
	case of == correlationFilter:
		d.Kind = rules.KindCorrelation
		err = readConditions(d, e)
	default:
		err = refuse("The type '" + of + "' of the filter is unknown.")
	}
	return err
}

func readAction(e *Element) (*rules.Expression, error) {
	switch of := e.typeName(); {
	case e.isNil() || of == noAction:
		return nil, nil
	case of == sqlAction:
		return readExpression("a SQL action", e)
	default:
		return nil, refuse("The type '" + of + "' of the action is unknown.")
	}
}

func readExpression(of string, e *Element) (*rules.Expression, error) {
	x := new(rules.Expression)
	for i := range e.Children {
		part := &e.Children[i]
		switch part.XMLName.Local {
		case "SqlExpression":
			x.Text = part.Text
		case "Parameters":
			var err error
			if x.Parameters, err = readPairs(part); err != nil {
				return nil, err
			}
		case "CompatibilityLevel", "RequiresPreprocessing":
		default:
			return nil, unknown(of, part)
		}
	}
	return x, nil
}

// readConditions reads a correlation filter. A null is no condition.
func readConditions(d *rules.Definition, e *Element) error {
	for i := range e.Children {
		part := &e.Children[i]
		name := part.XMLName.Local
		if name == "Properties" {
			pairs, err := readPairs(part)
			if err != nil {
				return err
			}
			null := rules.NewParameter("", property.Null).Value
			for _, p := range pairs {
				if p.Value != null {
					d.Application = append(d.Application, p)
				}
			}
			continue
		}
		of, known := property.ParseSystem(name)
		if !known {
			return unknown("a correlation filter", part)
		}
		if !part.isNil() {
			d.System = append(d.System, rules.NewParameter(of.String(), property.String(part.Text)))
		}
	}
	return nil
}

// readPairs reads names with values.
func readPairs(e *Element) (pairs []rules.Parameter, err error) {
	for i := range e.Children {
		var name string
		var value property.Value
		for j := range e.Children[i].Children {
			switch part := &e.Children[i].Children[j]; part.XMLName.Local {
			case "Key":
				name = part.Text
			case "Value":
				if value, err = readValue(part); err != nil {
					return nil, err
				}
			}
		}
		if name == "" || value == (property.Value{}) {
			return nil, refuse("An element of " + e.XMLName.Local + " must have a Key and a Value.")
		}
		pairs = append(pairs, rules.NewParameter(name, value))
	}
	return pairs, nil
}

// Rule returns the elements of the description of a rule. created is a time of XML, empty for none.
func Rule(d *rules.Definition, created string) []Element {
	parts := []Element{filter(d), typed("Action", noAction)}
	if d.Action != nil {
		parts[1] = typed("Action", sqlAction, expression(d.Action)...)
	}
	if created != "" {
		parts = append(parts, Text("CreatedAt", created))
	}
	return append(parts, Text("Name", d.Name))
}

func filter(d *rules.Definition) Element {
	constant := func(of, text string) Element {
		return typed("Filter", of, Text("SqlExpression", text), Text("CompatibilityLevel", compatibilityLevel))
	}
	switch d.Kind {
	case rules.KindFalse:
		return constant(falseFilter, "1=0")
	case rules.KindSQL:
		return typed("Filter", sqlFilter, expression(d.SQL)...)
	case rules.KindCorrelation:
		return typed("Filter", correlationFilter, conditions(d)...)
	default:
		return constant(trueFilter, "1=1")
	}
}

func expression(x *rules.Expression) []Element {
	parts := []Element{Text("SqlExpression", x.Text), Text("CompatibilityLevel", compatibilityLevel)}
	if len(x.Parameters) > 0 {
		parts = append(parts, pairs("Parameters", x.Parameters))
	}
	return parts
}

func conditions(d *rules.Definition) (parts []Element) {
	for _, of := range correlated {
		for _, c := range d.System {
			if c.Name == of.String() {
				v, _ := property.Decode(c.Value) // a definition has no other values
				parts = append(parts, Text(c.Name, v.Str()))
			}
		}
	}
	if len(d.Application) > 0 {
		parts = append(parts, pairs("Properties", d.Application))
	}
	return parts
}

func pairs(name string, list []rules.Parameter) Element {
	all := Element{XMLName: Text(name, "").XMLName}
	for _, p := range list {
		pair := Text("KeyValueOfstringanyType", "")
		pair.Children = []Element{Text("Key", p.Name), value(p.Value)}
		all.Children = append(all.Children, pair)
	}
	return all
}
