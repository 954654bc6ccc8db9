package filter

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The reference implements the rules simply and slowly: it evaluates the JSON of a policy over a
// list of all values in a message.

// placed is a value in a message with its path.
type placed struct {
	path  string
	value any
}

// referenceMatch reports whether a message passes a valid policy.
func referenceMatch(policy string, scope Scope, attributes []Attribute, body string) bool {
	var values []placed
	var exist []string
	if scope == MessageBody {
		if !json.Valid([]byte(body)) || !utf8.ValidString(body) || body[strings.IndexAny(body, "{[\"-0123456789tfn")] != '{' ||
			depthOf(body) > depthMax {
			return false
		}
		values = flattenBody(body)
	} else {
		values, exist = flattenAttributes(attributes)
	}
	count := map[string]int{}
	values = slices.DeleteFunc(values, func(v placed) bool {
		count[v.path]++
		return count[v.path] > ValuesMax
	})
	for _, v := range values {
		exist = append(exist, v.path)
	}
	return referenceObject(decode(policy).(map[string]any), "", values, exist)
}

func decode(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return v
}

func depthOf(text string) (deepest int) {
	depth := 0
	d := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// flattenBody reads token by token, so that repeated names count.
func flattenBody(body string) []placed {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var values []placed
	var read func(path []string)
	read = func(path []string) {
		token, _ := d.Token()
		switch token {
		case json.Delim('{'):
			for d.More() {
				name, _ := d.Token()
				read(append(slices.Clone(path), name.(string)))
			}
			_, _ = d.Token()
		case json.Delim('['):
			for d.More() {
				read(path)
			}
			_, _ = d.Token()
		default:
			values = append(values, placed{strings.Join(path, "."), token})
		}
	}
	read(nil)
	return values
}

func flattenAttributes(attributes []Attribute) (values []placed, exist []string) {
	for _, a := range attributes {
		switch {
		case a.DataType == "String.Array" || a.DataType == "Number.Array":
			exist = append(exist, a.Name)
			list, _ := decode(a.Value).([]any)
			nested := slices.ContainsFunc(list, func(v any) bool {
				_, object := v.(map[string]any)
				_, array := v.([]any)
				return object || array
			})
			if !nested && json.Valid([]byte(a.Value)) && utf8.ValidString(a.Value) {
				for _, v := range list {
					values = append(values, placed{a.Name, v})
				}
			}
		case a.DataType == "String" || strings.HasPrefix(a.DataType, "String."):
			values = append(values, placed{a.Name, a.Value})
		case a.DataType == "Number" || strings.HasPrefix(a.DataType, "Number."):
			exist = append(exist, a.Name)
			if _, ok := parseDecimal(a.Value); ok {
				values = append(values, placed{a.Name, json.Number(a.Value)})
			}
		}
	}
	return values, exist
}

// referenceOr reports whether v is a list of alternatives.
func referenceOr(v any) bool {
	list, _ := v.([]any)
	for _, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			return false
		}
		for name := range object {
			if slices.Contains(reservedNames, name) {
				return false
			}
		}
	}
	return len(list) >= 2
}

func referenceObject(object map[string]any, prefix string, values []placed, exist []string) bool {
	for name, v := range object {
		switch v := v.(type) {
		case map[string]any:
			if !referenceObject(v, prefix+name+".", values, exist) {
				return false
			}
		case []any:
			if name == orName && referenceOr(v) {
				if !slices.ContainsFunc(v, func(e any) bool { return referenceObject(e.(map[string]any), prefix, values, exist) }) {
					return false
				}
				continue
			}
			if !slices.ContainsFunc(v, func(condition any) bool { return referenceCondition(condition, prefix+name, values, exist) }) {
				return false
			}
		}
	}
	return true
}

func referenceCondition(condition any, path string, values []placed, exist []string) bool {
	if object, ok := condition.(map[string]any); ok && object["exists"] != nil {
		return object["exists"] == slices.Contains(exist, path)
	}
	return slices.ContainsFunc(values, func(v placed) bool { return v.path == path && referenceMet(condition, v.value) })
}

// referenceMet reports whether a value meets a condition other than exists.
func referenceMet(condition, v any) bool {
	object, ok := condition.(map[string]any)
	if !ok {
		return same(condition, v)
	}
	for operator, operand := range object {
		text, isText := v.(string)
		switch operator {
		case "prefix":
			return isText && strings.HasPrefix(text, operand.(string))
		case "suffix":
			return isText && strings.HasSuffix(text, operand.(string))
		case "equals-ignore-case":
			if list, ok := operand.([]any); ok {
				return slices.ContainsFunc(list, func(o any) bool { return isText && strings.EqualFold(text, o.(string)) })
			}
			return isText && strings.EqualFold(text, operand.(string))
		case "anything-but":
			if list, ok := operand.([]any); ok {
				return !slices.ContainsFunc(list, func(o any) bool { return same(o, v) })
			}
			return !referenceMet(operand, v)
		case "numeric":
			return referenceNumeric(operand.([]any), v)
		case "cidr":
			return isText && referenceNetwork(operand.(string), text)
		}
	}
	return false
}

func same(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, both := b.(json.Number)
	if isNumber && both {
		return rational(x).Cmp(rational(y)) == 0
	}
	return !isNumber && !both && a == b
}

func rational(n json.Number) *big.Rat {
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

func referenceNumeric(list []any, v any) bool {
	n, ok := v.(json.Number)
	for i := 0; ok && i < len(list); i += 2 {
		order := rational(n).Cmp(rational(list[i+1].(json.Number)))
		switch list[i] {
		case "=":
			ok = order == 0
		case "<":
			ok = order < 0
		case "<=":
			ok = order <= 0
		case ">":
			ok = order > 0
		case ">=":
			ok = order >= 0
		}
	}
	return ok
}

func referenceNetwork(network, text string) bool {
	first, bits, _ := strings.Cut(network, "/")
	n, _ := strconv.Atoi(bits)
	a, ok := libraryAddress(text)
	return ok && netip.PrefixFrom(netip.MustParseAddr(first), n).Contains(a)
}

// referenceCount counts the combinations of a policy and its paths, branch by branch.
func referenceCount(object map[string]any, prefix string, depth int) (combinations int, paths []string) {
	branches := []int{1}
	for name, v := range object {
		list, isList := v.([]any)
		var factors []int
		switch {
		case isList && name == orName && referenceOr(v):
			for _, e := range list {
				n, p := referenceCount(e.(map[string]any), prefix, depth)
				factors = append(factors, n)
				paths = append(paths, p...)
			}
		case isList:
			factors = []int{len(list) * depth}
			paths = append(paths, prefix+name)
		default:
			n, p := referenceCount(v.(map[string]any), prefix+name+".", depth+1)
			factors = []int{n}
			paths = append(paths, p...)
		}
		var product []int
		for _, b := range branches {
			for _, f := range factors {
				product = append(product, b*f)
			}
		}
		branches = product
	}
	for _, b := range branches {
		combinations += b
	}
	slices.Sort(paths)
	return combinations, slices.Compact(paths)
}
