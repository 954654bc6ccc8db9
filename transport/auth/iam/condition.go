package iam

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// condition is one operator with one key.
type condition struct {
	operator operator
	key      string // lower case
	wanted   []string
	// ifExists says that a request without the key is right.
	ifExists bool
	// isNull is the operator Null, which asks for the key itself.
	isNull bool
}

// operator compares one value of a request with one of a policy.
type operator struct {
	match   func(got, wanted string, r *Request) bool
	negated bool
}

// operators is the table of condition operators; Null is read apart.
var operators = map[string]operator{
	"StringEquals":              {match: equalText},
	"StringNotEquals":           {match: equalText, negated: true},
	"StringEqualsIgnoreCase":    {match: equalFold},
	"StringNotEqualsIgnoreCase": {match: equalFold, negated: true},
	"StringLike":                {match: like},
	"StringNotLike":             {match: like, negated: true},
	"ArnEquals":                 {match: like},
	"ArnNotEquals":              {match: like, negated: true},
	"ArnLike":                   {match: like},
	"ArnNotLike":                {match: like, negated: true},
	"NumericEquals":             {match: numbers(func(a, b float64) bool { return a == b })},
	"NumericNotEquals":          {match: numbers(func(a, b float64) bool { return a == b }), negated: true},
	"NumericLessThan":           {match: numbers(func(a, b float64) bool { return a < b })},
	"NumericLessThanEquals":     {match: numbers(func(a, b float64) bool { return a <= b })},
	"NumericGreaterThan":        {match: numbers(func(a, b float64) bool { return a > b })},
	"NumericGreaterThanEquals":  {match: numbers(func(a, b float64) bool { return a >= b })},
	"DateEquals":                {match: dates(func(c int) bool { return c == 0 })},
	"DateNotEquals":             {match: dates(func(c int) bool { return c == 0 }), negated: true},
	"DateLessThan":              {match: dates(func(c int) bool { return c < 0 })},
	"DateLessThanEquals":        {match: dates(func(c int) bool { return c <= 0 })},
	"DateGreaterThan":           {match: dates(func(c int) bool { return c > 0 })},
	"DateGreaterThanEquals":     {match: dates(func(c int) bool { return c >= 0 })},
	"Bool":                      {match: equalFold},
	"IpAddress":                 {match: inNetwork},
	"NotIpAddress":              {match: inNetwork, negated: true},
}

// parseConditions reads the conditions of a statement. unknown says that one of them is
// not understood.
func parseConditions(raw json.RawMessage) (list []condition, unknown bool, err error) {
	if raw == nil {
		return nil, false, nil
	}
	var byOperator map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &byOperator); err != nil {
		return nil, false, fmt.Errorf("the Condition: %w", err)
	}
	for name, keys := range byOperator {
		base, ifExists := strings.CutSuffix(name, "IfExists")
		op, known := operators[base]
		isNull := name == "Null"
		if !known && !isNull {
			unknown = true
			continue
		}
		for key, values := range keys {
			wanted, err := parseTexts(values)
			if err != nil {
				return nil, false, fmt.Errorf("the Condition %s: %w", name, err)
			}
			list = append(list, condition{operator: op, key: strings.ToLower(key), wanted: wanted, ifExists: ifExists, isNull: isNull})
		}
	}
	return list, unknown, nil
}

// match reports whether a condition holds. One value of the request has to be right; of a
// negated operator none may be one of the values named. A key without a value fulfils
// negated operators and those with IfExists only.
func (c *condition) match(r *Request) bool {
	values := r.Keys[c.key]
	if c.isNull {
		return slices.ContainsFunc(c.wanted, func(text string) bool { return strings.EqualFold(text, strconv.FormatBool(len(values) == 0)) })
	}
	if len(values) == 0 {
		return c.ifExists || c.operator.negated
	}
	found := slices.ContainsFunc(values, func(got string) bool {
		return slices.ContainsFunc(c.wanted, func(wanted string) bool { return c.operator.match(got, wanted, r) })
	})
	return found != c.operator.negated
}

func equalText(got, wanted string, r *Request) bool {
	if strings.Contains(wanted, "${") {
		return matchVariables(strings.NewReplacer("*", literalStar, "?", literalQuestion).Replace(wanted), got, r)
	}
	return got == wanted
}

func equalFold(got, wanted string, _ *Request) bool { return strings.EqualFold(got, wanted) }

func like(got, wanted string, r *Request) bool { return matchVariables(wanted, got, r) }

func numbers(holds func(a, b float64) bool) func(got, wanted string, _ *Request) bool {
	return func(got, wanted string, _ *Request) bool {
		a, errA := strconv.ParseFloat(got, 64)
		b, errB := strconv.ParseFloat(wanted, 64)
		return errA == nil && errB == nil && holds(a, b)
	}
}

func dates(holds func(c int) bool) func(got, wanted string, _ *Request) bool {
	return func(got, wanted string, _ *Request) bool {
		a, okA := parseDate(got)
		b, okB := parseDate(wanted)
		return okA && okB && holds(a.Compare(b))
	}
}

// parseDate reads a date of ISO 8601, or seconds since 1970.
func parseDate(text string) (time.Time, bool) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0), true
	}
	for _, format := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(format, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// inNetwork compares an address with an address or a network.
func inNetwork(got, wanted string, _ *Request) bool {
	address, err := netip.ParseAddr(got)
	if err != nil {
		return false
	}
	address = address.Unmap().WithZone("")
	if network, err := netip.ParsePrefix(wanted); err == nil {
		return network.Contains(address)
	}
	other, err := netip.ParseAddr(wanted)
	return err == nil && other.Unmap() == address
}
