package emulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
)

// rule is a rule of a subscription.
type rule struct {
	Name       string
	Properties struct {
		FilterType        string
		SQLFilter         *expression
		CorrelationFilter map[string]json.RawMessage
		Action            *expression
	}
}

type expression struct{ SQLExpression string }

// definitions returns the rules of a subscription in the order of the configuration. It returns nil for
// none: the subscription has the default rule then.
func definitions(path string, list []rule) (all []rules.Definition, err error) {
	names := map[string]bool{} // in lower case
	for i := range list {
		d, err := list[i].definition()
		if err == nil {
			_, err = d.InCanonicalForm()
		}
		folded := strings.ToLower(d.Name)
		if err == nil && names[folded] {
			err = errors.New("it is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("the rule %s of %s: %w", list[i].Name, path, err)
		}
		names[folded] = true
		all = append(all, d)
	}
	return all, nil
}

func (r *rule) definition() (d rules.Definition, err error) {
	p := &r.Properties
	d.Name = r.Name
	switch strings.ToLower(strings.TrimSuffix(p.FilterType, "Filter")) {
	case "sql":
		if d.Kind = rules.KindSQL; p.SQLFilter == nil {
			return d, errors.New("SqlFilter is missing")
		}
		d.SQL = &rules.Expression{Text: p.SQLFilter.SQLExpression}
	case "correlation":
		d.Kind = rules.KindCorrelation
		err = addConditions(&d, p.CorrelationFilter)
	case "true":
		d.Kind = rules.KindTrue
	case "false":
		d.Kind = rules.KindFalse
	default:
		err = fmt.Errorf("the FilterType %q is unknown", p.FilterType)
	}
	if p.Action != nil && p.Action.SQLExpression != "" {
		d.Action = &rules.Expression{Text: p.Action.SQLExpression}
	}
	return d, err
}

// addConditions adds the conditions of a correlation filter. An empty text is none.
func addConditions(d *rules.Definition, given map[string]json.RawMessage) error {
	for name, raw := range given {
		if strings.EqualFold(name, "Properties") {
			if err := addProperties(d, raw); err != nil {
				return err
			}
			continue
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf("%s must be a text", name)
		}
		if text != "" {
			d.System = append(d.System, rules.NewParameter(name, property.String(text)))
		}
	}
	return nil
}

func addProperties(d *rules.Definition, raw json.RawMessage) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return errors.New("Properties must be an object")
	}
	for name, value := range values {
		v, ok := valueOf(value)
		if !ok {
			return fmt.Errorf("the property %s must be a text, a number or a boolean", name)
		}
		if v != property.Null {
			d.Application = append(d.Application, rules.NewParameter(name, v))
		}
	}
	return nil
}

func valueOf(value any) (property.Value, bool) {
	switch v := value.(type) {
	case nil:
		return property.Null, true
	case string:
		return property.String(v), true
	case bool:
		return property.Boolean(v), true
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return property.Long(n), true
		}
		f, err := v.Float64()
		return property.DoubleBits(math.Float64bits(f)), err == nil
	}
	return property.Value{}, false
}
