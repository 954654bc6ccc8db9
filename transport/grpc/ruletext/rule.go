// Package ruletext reads and writes rules of subscriptions as texts, for the command line, documents and
// the console. It does not know the SQL in them: the state machine parses it.
package ruletext

import (
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// Types of values in texts. A value without a type is a text.
const (
	integerType = "integer"
	numberType  = "number"
	booleanType = "boolean"
	amqpType    = "amqp" // hexadecimal, in the encoding of AMQP
)

// ParseProperty parses a property as name=text or name:type=value.
func ParseProperty(text string) (name string, v *seriatimpb.PropertyValue, err error) {
	left, value, ok := strings.Cut(text, "=")
	name, kind, typed := strings.Cut(left, ":")
	if !ok || name == "" {
		return "", nil, fmt.Errorf("%q has no name and value", text)
	}
	if !typed {
		return name, &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Text{Text: value}}, nil
	}
	v, err = parseValue(kind, value)
	if err != nil {
		err = fmt.Errorf("%q: %w", text, err)
	}
	return name, v, err
}

// parseValue parses a value of a type.
func parseValue(kind, text string) (*seriatimpb.PropertyValue, error) {
	switch kind {
	case integerType:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Integer{Integer: n}}, nil
		}
		return nil, fmt.Errorf("%q is no integer of 64 bits", text)
	case numberType:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Number{Number: n}}, nil
		}
		return nil, fmt.Errorf("%q is no number", text)
	case booleanType:
		if is, err := strconv.ParseBool(text); err == nil {
			return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Boolean{Boolean: is}}, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", text)
	case amqpType:
		if encoded, err := hex.DecodeString(text); err == nil {
			return &seriatimpb.PropertyValue{Value: &seriatimpb.PropertyValue_Amqp{Amqp: encoded}}, nil
		}
		return nil, fmt.Errorf("%q is not hexadecimal", text)
	}
	return nil, fmt.Errorf("the type %q is unknown: it is %s, %s, %s or %s", kind, integerType, numberType, booleanType, amqpType)
}

// FormatProperty is the inverse of ParseProperty. It says that a property has no value, which no text stands for.
func FormatProperty(name string, v *seriatimpb.PropertyValue) string {
	kind, text := "", ""
	switch x := v.GetValue().(type) {
	case *seriatimpb.PropertyValue_Text:
		return name + "=" + x.Text
	case *seriatimpb.PropertyValue_Integer:
		kind, text = integerType, strconv.FormatInt(x.Integer, 10)
	case *seriatimpb.PropertyValue_Number:
		kind, text = numberType, strconv.FormatFloat(x.Number, 'g', -1, 64)
	case *seriatimpb.PropertyValue_Boolean:
		kind, text = booleanType, strconv.FormatBool(x.Boolean)
	case *seriatimpb.PropertyValue_Amqp:
		kind, text = amqpType, hex.EncodeToString(x.Amqp)
	default:
		return name + " (none)"
	}
	return name + ":" + kind + "=" + text
}

// Properties formats properties, sorted by name.
func Properties(of map[string]*seriatimpb.PropertyValue) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		texts = append(texts, FormatProperty(name, of[name]))
	}
	return texts
}

// systemPrefix begins the name of a system property.
const systemPrefix = "sys."

// SystemProperty reports whether a name is that of a system property, and returns it without its prefix.
func SystemProperty(name string) (system string, is bool) {
	if len(name) <= len(systemPrefix) || !strings.EqualFold(name[:len(systemPrefix)], systemPrefix) {
		return name, false
	}
	system = name[len(systemPrefix):]
	if known, ok := property.ParseSystem(system); ok {
		system = known.String()
	}
	return system, true
}

// Rule is a rule of a subscription as a document. One of All, SQL and Where is its filter.
type Rule struct {
	Name             string   `json:"name" yaml:"name"`
	All              *bool    `json:"all,omitempty" yaml:"all,omitempty"` // true selects every message, false none
	SQL              string   `json:"sql,omitempty" yaml:"sql,omitempty"`
	Parameters       []string `json:"parameters,omitempty" yaml:"parameters,omitempty"`
	Where            []string `json:"where,omitempty" yaml:"where,omitempty"` // conditions, system properties with sys.
	Action           string   `json:"action,omitempty" yaml:"action,omitempty"`
	ActionParameters []string `json:"actionParameters,omitempty" yaml:"actionParameters,omitempty"`
}

// Default returns the rule with which a subscription begins.
func Default() *Rule { return &Rule{Name: "$Default", All: new(true)} }

// IsDefault reports whether the rule is that with which a subscription begins.
func (d *Rule) IsDefault() bool {
	return d.Name == Default().Name && d.Action == "" && d.Filter() == Default().Filter()
}

// String returns the rule without its name. Rules that do the same in the same words have one form.
func (d *Rule) String() string {
	if r, err := d.Message(); err == nil {
		d = new(Of(r))
	}
	text := d.Filter()
	if d.Action != "" {
		text += " DO " + strings.Join(append([]string{d.Action}, d.ActionParameters...), "  ")
	}
	return text
}

// Of returns the document of a rule.
func Of(r *seriatimpb.Rule) Rule {
	d := Rule{Name: r.GetName(), Action: r.GetAction().GetText(), ActionParameters: Properties(r.GetAction().GetParameters())}
	switch f := r.GetFilter().(type) {
	case *seriatimpb.Rule_Sql:
		d.SQL, d.Parameters = f.Sql.GetText(), Properties(f.Sql.GetParameters())
	case *seriatimpb.Rule_Correlation:
		for _, name := range slices.Sorted(maps.Keys(f.Correlation.GetSystem())) {
			d.Where = append(d.Where, systemPrefix+name+"="+f.Correlation.GetSystem()[name])
		}
		d.Where = append(d.Where, Properties(f.Correlation.GetApplication())...)
	case *seriatimpb.Rule_All:
		d.All = &f.All
	default:
		d.All = new(true)
	}
	return d
}

// Filter describes the filter of the rule.
func (d *Rule) Filter() string {
	switch {
	case d.SQL != "":
		return strings.Join(append([]string{d.SQL}, d.Parameters...), "  ")
	case d.Where != nil:
		return strings.Join(d.Where, " AND ")
	case d.All != nil && !*d.All:
		return "none"
	default:
		return "all"
	}
}

// AddParameter adds the value of a parameter to the filter and the action that mention it. It reports
// false, and adds nothing, if neither does.
func (d *Rule) AddParameter(text string) (used bool, err error) {
	name, _, err := ParseProperty(text)
	if err != nil {
		return false, err
	}
	if mentions(d.SQL, name) {
		d.Parameters, used = append(d.Parameters, text), true
	}
	if mentions(d.Action, name) {
		d.ActionParameters, used = append(d.ActionParameters, text), true
	}
	return used, nil
}

// mentions reports whether a text has a parameter.
func mentions(sql, parameter string) bool {
	return regexp.MustCompile(`(?i)@` + regexp.QuoteMeta(strings.TrimPrefix(parameter, "@")) + `\b`).MatchString(sql)
}

// Message is the inverse of Of.
func (d *Rule) Message() (*seriatimpb.Rule, error) {
	r := &seriatimpb.Rule{Name: d.Name}
	if d.Action != "" {
		parameters, err := parseParameters(d.ActionParameters)
		if err != nil {
			return nil, err
		}
		r.Action = &seriatimpb.RuleExpression{Text: d.Action, Parameters: parameters}
	}
	switch {
	case d.SQL != "":
		parameters, err := parseParameters(d.Parameters)
		if err != nil {
			return nil, err
		}
		r.Filter = &seriatimpb.Rule_Sql{Sql: &seriatimpb.RuleExpression{Text: d.SQL, Parameters: parameters}}
	case d.Where != nil:
		c := &seriatimpb.RuleConditions{System: map[string]string{}, Application: map[string]*seriatimpb.PropertyValue{}}
		for _, text := range d.Where {
			name, v, err := ParseProperty(text)
			if err != nil {
				return nil, err
			}
			system, is := SystemProperty(name)
			text, isText := v.GetValue().(*seriatimpb.PropertyValue_Text)
			switch {
			case !is:
				c.Application[name] = v
			case isText:
				c.System[system] = text.Text
			default:
				return nil, fmt.Errorf("the value of %s is no text", name)
			}
		}
		r.Filter = &seriatimpb.Rule_Correlation{Correlation: c}
	default:
		r.Filter = &seriatimpb.Rule_All{All: d.All == nil || *d.All}
	}
	return r, nil
}

// parseParameters parses parameters, whose names begin with @, which can be omitted.
func parseParameters(texts []string) (map[string]*seriatimpb.PropertyValue, error) {
	out := make(map[string]*seriatimpb.PropertyValue, len(texts))
	for _, text := range texts {
		name, v, err := ParseProperty(text)
		if err != nil {
			return nil, err
		}
		out["@"+strings.TrimPrefix(name, "@")] = v
	}
	return out, nil
}
