package rules

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// test returns true, false, or nil for unknown.
func (m refMessage) test(x term) any {
	switch x.op {
	case "NOT":
		return negated(m.test(x.operands[0]))
	case "AND":
		first := m.test(x.operands[0])
		if first == false {
			return false
		}
		second := m.test(x.operands[1])
		if second == false || first == true && second == true {
			return second
		}
		return nil
	case "OR":
		return negated(m.test(term{op: "AND", operands: []term{
			{op: "NOT", operands: x.operands[:1]},
			{op: "NOT", operands: x.operands[1:]},
		}}))
	case "EXISTS":
		v := m.value(x.operands[0])
		return v != missing{} && !(v == nil && strings.HasPrefix(x.operands[0].name, "sys."))
	case "ISNULL":
		v := m.value(x.operands[0])
		return v == missing{} || v == nil
	case "NOTNULL":
		return negated(m.test(term{op: "ISNULL", operands: x.operands}))
	case "NOTIN":
		return negated(m.test(term{op: "IN", operands: x.operands}))
	case "IN":
		v := m.value(x.operands[0])
		if v == (missing{}) || v == nil {
			return nil
		}
		var result any = false
		for _, o := range x.operands[1:] {
			switch related("=", v, m.value(o)) {
			case true:
				return true
			case nil:
				result = nil
			}
		}
		return result
	case "NOTLIKE":
		return negated(m.test(term{op: "LIKE", operands: x.operands}))
	case "LIKE":
		return m.like(x)
	}
	a := m.value(x.operands[0])
	return related(x.op, a, m.value(x.operands[1]))
}

func negated(v any) any {
	if b, ok := v.(bool); ok {
		return !b
	}
	return nil
}

func (m refMessage) like(x term) any {
	v := m.value(x.operands[0])
	pattern := m.value(x.operands[1])
	escape := any("none")
	if len(x.operands) > 2 {
		escape = m.value(x.operands[2])
	}
	text, ok0 := v.(string)
	like, ok1 := pattern.(string)
	e, ok2 := escape.(string)
	if !ok0 || !ok1 || !ok2 {
		return nil
	}
	if r := regular(like, e); r != nil {
		return r.MatchString(text)
	}
	return nil
}

// related returns whether a relation holds, nil for unknown.
func related(relation string, a, b any) any {
	var order int
	ordered := true
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok {
			return nil
		}
		order = strings.Compare(x, y)
	case time.Time:
		y, ok := b.(time.Time)
		if !ok {
			return nil
		}
		order = x.Compare(y)
	case time.Duration:
		y, ok := b.(time.Duration)
		if !ok {
			return nil
		}
		order = int(min(max(x-y, -1), 1))
	case bool, guid:
		if fmt.Sprintf("%T", a) != fmt.Sprintf("%T", b) {
			return nil
		}
		ordered = false
		if a != b {
			order = 1
		}
	default:
		if !isNumeric(a) || !isNumeric(b) {
			return nil
		}
		if isFloat(a) || isFloat(b) {
			x, y := toFloat(a), toFloat(b)
			return map[string]bool{"=": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[relation]
		}
		order = toRat(a).Cmp(toRat(b))
	}
	if !ordered && relation != "=" && relation != "<>" {
		return nil
	}
	return map[string]bool{
		"=": order == 0, "<>": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0,
	}[relation]
}

func isNumeric(v any) bool {
	switch v.(type) {
	case int64, float64, exact:
		return true
	}
	return false
}

func isFloat(v any) bool {
	_, ok := v.(float64)
	return ok
}

func toRat(v any) *big.Rat {
	if e, ok := v.(exact); ok {
		return e.n
	}
	return new(big.Rat).SetInt64(v.(int64))
}

func toFloat(v any) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	f, _ := toRat(v).Float64()
	return f
}

// value evaluates an operand.
func (m refMessage) value(x term) any {
	switch x.op {
	case "constant":
		return x.value
	case "property":
		return m.lookup(x.name)
	case "call":
		if name, ok := m.value(x.operands[0]).(string); ok {
			if strings.HasPrefix(name, "sys.") {
				return missing{}
			}
			return m.lookup(name)
		}
		return missing{}
	case "neg":
		return negative(m.value(x.operands[0]))
	case "pos":
		v := m.value(x.operands[0])
		if _, ok := v.(time.Duration); ok || isNumeric(v) {
			return v
		}
		return missing{}
	}
	a := m.value(x.operands[0])
	return arithmetic(x.op, a, m.value(x.operands[1]))
}

// lookup finds a property in any letter case. The generator's names differ in more than that.
func (m refMessage) lookup(name string) any {
	for known, v := range m {
		if strings.EqualFold(known, name) {
			return v
		}
	}
	return missing{}
}

const beyond = refFault("a result beyond the range of its type")

func negative(v any) any {
	switch v := v.(type) {
	case int64:
		if v == math.MinInt64 {
			panic(beyond)
		}
		return -v
	case float64:
		return -v
	case exact:
		return exact{new(big.Rat).Neg(v.n), v.places}
	case time.Duration:
		return -v
	}
	return missing{}
}

func arithmetic(op string, a, b any) any {
	if a == nil || b == nil || a == (missing{}) || b == (missing{}) {
		return missing{}
	}
	_, aText := a.(string)
	_, bText := b.(string)
	switch {
	case op == "+" && (aText || bText):
		return asText(a) + asText(b)
	case isNumeric(a) && isNumeric(b):
		return numeric(op, a, b)
	}
	switch x := a.(type) {
	case time.Time:
		if y, ok := b.(time.Time); ok && op == "-" {
			return x.Sub(y)
		}
		if y, ok := b.(time.Duration); ok && op == "-" {
			return x.Add(-y)
		} else if ok && op == "+" {
			return x.Add(y)
		}
	case time.Duration:
		if y, ok := b.(time.Time); ok && op == "+" {
			return y.Add(x)
		}
		if y, ok := b.(time.Duration); ok && op == "+" {
			return x + y
		} else if ok && op == "-" {
			return x - y
		}
	}
	return missing{}
}

func numeric(op string, a, b any) any {
	if isFloat(a) || isFloat(b) {
		x, y := toFloat(a), toFloat(b)
		switch op {
		case "+":
			return x + y
		case "-":
			return x - y
		case "*":
			return x * y
		case "/":
			return x / y
		}
		return math.Mod(x, y)
	}
	x, y, z := toRat(a), toRat(b), new(big.Rat)
	if (op == "/" || op == "%") && y.Sign() == 0 {
		panic(refFault("a division by zero"))
	}
	_, aInt := a.(int64)
	_, bInt := b.(int64)
	places := max(placesOf(a), placesOf(b))
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
		places = placesOf(a) + placesOf(b)
	case "/":
		z.Quo(x, y)
		if aInt && bInt {
			z.SetInt(new(big.Int).Quo(z.Num(), z.Denom()))
		} else {
			places = finite(z)
		}
	case "%":
		z.Quo(x, y)
		whole := new(big.Rat).SetInt(new(big.Int).Quo(z.Num(), z.Denom()))
		z.Sub(x, whole.Mul(whole, y))
	}
	if aInt && bInt {
		if !z.Num().IsInt64() {
			panic(beyond)
		}
		return z.Num().Int64()
	}
	// Rounding is the subject of a test in package property.
	coefficient := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	if places > 28 || coefficient.Mul(coefficient, z.Num()).BitLen() > 90 {
		panic(skipped{})
	}
	return exact{z, places}
}

func placesOf(v any) int {
	if e, ok := v.(exact); ok {
		return e.places
	}
	return 0
}

// finite returns the number of decimals of a number.
func finite(n *big.Rat) int {
	for places := range 20 {
		if rounded, _ := new(big.Rat).SetString(n.FloatString(places)); rounded.Cmp(n) == 0 {
			return places
		}
	}
	panic(skipped{})
}

// asText returns the text of a value in a concatenation.
func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case exact:
		return v.n.FloatString(v.places)
	case guid:
		return string(v)
	case time.Time:
		return v.Format("2006-01-02T15:04:05.000Z")
	case time.Duration:
		sign := ""
		if v < 0 {
			sign, v = "-", -v
		}
		if v >= 24*time.Hour {
			sign += fmt.Sprintf("%d.", v/(24*time.Hour))
		}
		clock := time.Time{}.Add(v % (24 * time.Hour))
		if clock.Nanosecond() == 0 {
			return sign + clock.Format("15:04:05")
		}
		return sign + clock.Format("15:04:05.0000000")
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 0):
			return strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "+") + "inity"
		case v == 0 || math.Abs(v) >= 1e-5 && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'E', -1, 64)
	}
	panic(v)
}
