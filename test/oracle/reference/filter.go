package reference

import (
	"encoding/json"
	"math/big"
	"strings"
)

// goodPolicy parses the filter policies for which the model has rules: an object of names with
// lists of conditions, nested only in the scope of bodies (sns.md 8).
func goodPolicy(text string, body bool) bool {
	var policy map[string]any
	return json.Unmarshal([]byte(text), &policy) == nil && goodLevel(policy, body)
}

func goodLevel(policy map[string]any, body bool) bool {
	for _, value := range policy {
		switch v := value.(type) {
		case []any:
			if len(v) == 0 {
				return false
			}
		case map[string]any:
			if !body || !goodLevel(v, body) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// passes reports whether a publication passes the filter of a subscription.
func (s *Subscription) passes(p *Publication) bool {
	if s.settings.filter == "" {
		return true
	}
	var policy map[string]any
	if decode(s.settings.filter, &policy) != nil {
		return false
	}
	if !s.settings.bodyScope {
		return matchLevel(policy, "", attributeValues(p.Attributes))
	}
	var body map[string]any
	if decode(p.Text, &body) != nil || body == nil {
		return false // not an object: no match (sns.md 8)
	}
	values := map[string][]any{}
	flatten("", body, values)
	return matchLevel(policy, "", values)
}

func decode(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// attributeValues returns the values of attributes by name. Binary attributes have none.
func attributeValues(list []Attribute) map[string][]any {
	values := map[string][]any{}
	for _, a := range list {
		switch {
		case strings.HasPrefix(a.Type, "Number"):
			values[a.Name] = []any{json.Number(a.Value)}
		case a.Type == "String.Array":
			var elements []any
			if decode(a.Value, &elements) == nil {
				values[a.Name] = elements
			}
		case strings.HasPrefix(a.Type, "String"):
			values[a.Name] = []any{a.Value}
		}
	}
	return values
}

// flatten joins the names of nested values with dots. Each element of an array is a value.
func flatten(path string, value any, values map[string][]any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v { // in any order, as the names differ
			flatten(strings.TrimPrefix(path+"."+name, "."), inner, values)
		}
	case []any:
		for _, element := range v {
			flatten(path, element, values)
		}
	default:
		values[path] = append(values[path], v)
	}
}

// matchLevel reports whether every name has a condition that matches.
func matchLevel(policy map[string]any, path string, values map[string][]any) bool {
	for name, wanted := range policy { // in any order, as all must match
		full := strings.TrimPrefix(path+"."+name, ".")
		if nested, ok := wanted.(map[string]any); ok {
			if !matchLevel(nested, full, values) {
				return false
			}
			continue
		}
		met := false
		for _, condition := range wanted.([]any) {
			met = met || meets(condition, values[full])
		}
		if !met {
			return false
		}
	}
	return true
}

func meets(condition any, values []any) bool {
	if rule, ok := condition.(map[string]any); ok {
		if exists, ok := rule["exists"].(bool); ok {
			return exists == (len(values) > 0)
		}
		for _, v := range values {
			if meetsRule(rule, v) {
				return true
			}
		}
		return false
	}
	for _, v := range values {
		if equal(condition, v) {
			return true
		}
	}
	return false
}

func meetsRule(rule map[string]any, value any) bool {
	text, isText := value.(string)
	for name, operand := range rule {
		word, _ := operand.(string)
		switch name {
		case "prefix":
			return isText && strings.HasPrefix(text, word)
		case "suffix":
			return isText && strings.HasSuffix(text, word)
		case "equals-ignore-case":
			return isText && strings.EqualFold(text, word)
		case "numeric":
			return inRange(operand.([]any), value)
		case "anything-but":
			return !excluded(operand, value)
		}
	}
	return false
}

func excluded(operand, value any) bool {
	switch o := operand.(type) {
	case []any:
		for _, one := range o {
			if equal(one, value) {
				return true
			}
		}
		return false
	case map[string]any:
		return meetsRule(o, value)
	}
	return equal(operand, value)
}

func equal(a, b any) bool {
	x, y := rational(a), rational(b)
	if x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return x == nil && y == nil && a == b
}

// rational returns the value of a number, nil for anything else.
func rational(v any) *big.Rat {
	text, ok := v.(json.Number)
	if !ok {
		return nil
	}
	n, _ := new(big.Rat).SetString(text.String())
	return n
}

func inRange(bounds []any, value any) bool {
	v := rational(value)
	if v == nil {
		return false
	}
	for i := 0; i+1 < len(bounds); i += 2 {
		c := v.Cmp(rational(bounds[i+1]))
		switch bounds[i] {
		case "=":
			if c != 0 {
				return false
			}
		case "<":
			if c >= 0 {
				return false
			}
		case "<=":
			if c > 0 {
				return false
			}
		case ">":
			if c <= 0 {
				return false
			}
		case ">=":
			if c < 0 {
				return false
			}
		}
	}
	return true
}
