package servicebus

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// correlated has the system properties of a correlation filter in the order of its list.
var correlated = [...]struct {
	key string
	of  property.System
}{
	{"correlation-id", property.CorrelationID},
	{"message-id", property.MessageID},
	{"to", property.To},
	{"reply-to", property.ReplyTo},
	{"label", property.Label},
	{"session-id", property.SessionID},
	{"reply-to-session-id", property.ReplyToSessionID},
	{"content-type", property.ContentType},
}

// Descriptors of a rule and its parts.
const (
	codeRule              = 0x13700000004
	codeNoAction          = 0x13700000005
	codeSQLAction         = 0x13700000006
	codeSQLFilter         = 0x1370000006
	codeTrueFilter        = 0x1370000007
	codeFalseFilter       = 0x1370000008
	codeCorrelationFilter = 0x1370000009
)

// compatibilityLevel is the version of the vendor's SQL.
const compatibilityLevel = 20

// readRule reads the rule of a request.
func readRule(name, description wire.Value) (d rules.Definition, err error) {
	var ok bool
	if d.Name, ok = name.Text(); !ok {
		return d, argument("rule-name", "it is missing")
	}
	sql, correlation := description.Lookup("sql-filter"), description.Lookup("correlation-filter")
	switch {
	case sql.IsNull() == correlation.IsNull():
		return d, argument("rule-description", "it must have a sql-filter or a correlation-filter")
	case correlation.IsNull():
		d.Kind = rules.KindSQL
		d.SQL, err = readExpression(sql)
	default:
		d.Kind = rules.KindCorrelation
		err = readConditions(&d, correlation)
	}
	if action := description.Lookup("sql-rule-action"); err == nil && !action.IsNull() {
		d.Action, err = readExpression(action)
	}
	return d, err
}

func readExpression(v wire.Value) (*rules.Expression, error) {
	text, ok := v.Lookup("expression").Text()
	if !ok {
		return nil, argument("rule-description", "an expression is missing")
	}
	return &rules.Expression{Text: text}, nil
}

// readConditions reads a correlation filter. A null is no condition.
func readConditions(d *rules.Definition, v wire.Value) error {
	for _, c := range correlated {
		switch value := v.Lookup(c.key); {
		case value.IsNull():
		case value.Kind() != wire.String:
			return argument("rule-description", c.key+" must be a string")
		default:
			d.System = append(d.System, rules.Parameter{Name: c.of.String(), Value: string(value)})
		}
	}
	for key, value := range v.Lookup("properties").Map() {
		name, ok := key.Text()
		if !ok {
			return argument("rule-description", "the name of a property must be a string")
		}
		if !value.IsNull() {
			d.Application = append(d.Application, rules.Parameter{Name: strings.Clone(name), Value: string(value)})
		}
	}
	return nil
}

// appendRule appends a rule as clients read it.
func appendRule(b []byte, r *rules.Rule) []byte {
	b, all := wire.BeginList(wire.AppendDescriptor(b, codeRule))
	b = appendFilter(b, r)
	if r.Action == nil {
		b = appendEmptyList(b, codeNoAction)
	} else {
		b = appendSQL(b, codeSQLAction, r.Action)
	}
	return all.End(wire.AppendTimestamp(wire.AppendString(b, r.Name), int64(r.CreatedAt)))
}

func appendFilter(b []byte, r *rules.Rule) []byte {
	switch r.Kind {
	case rules.KindSQL:
		return appendSQL(b, codeSQLFilter, r.SQL)
	case rules.KindCorrelation:
		return appendCorrelation(b, r)
	case rules.KindFalse:
		return appendEmptyList(b, codeFalseFilter)
	default:
		return appendEmptyList(b, codeTrueFilter)
	}
}

func appendEmptyList(b []byte, code uint64) []byte {
	b, list := wire.BeginList(wire.AppendDescriptor(b, code))
	return list.End(b)
}

func appendSQL(b []byte, code uint64, e *rules.Expression) []byte {
	b, list := wire.BeginList(wire.AppendDescriptor(b, code))
	return list.End(wire.AppendInt(wire.AppendString(b, e.Text), compatibilityLevel))
}

func appendCorrelation(b []byte, r *rules.Rule) []byte {
	b, list := wire.BeginList(wire.AppendDescriptor(b, codeCorrelationFilter))
	for _, c := range correlated {
		b = append(b, valueOf(r.System, c.of.String())...)
	}
	b, properties := wire.BeginMap(b)
	for _, p := range r.Application {
		b = append(wire.AppendString(b, p.Name), p.Value...)
	}
	return list.End(properties.End(b))
}

// valueOf returns a condition, null if there is none.
func valueOf(list []rules.Parameter, name string) []byte {
	for i := range list {
		if list[i].Name == name {
			return []byte(list[i].Value)
		}
	}
	return wire.AppendNull(nil)
}
