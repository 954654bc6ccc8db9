package iam

import (
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
	// ifExists accepts a request without the key.
	ifExists bool
	// isNull is the operator Null, which tests whether the key exists.
	isNull bool
}

// operator compares one value of a request with one of a policy.
type operator struct {
	form    form // of the values
	match   func(got, wanted string, r *Request) bool
	negated bool
}

// operators is the table of condition operators without Null.
var operators = map[string]operator{
	"StringEquals":              {form: formText, match: equalText},
	"StringNotEquals":           {form: formText, match: equalText, negated: true},
	"StringEqualsIgnoreCase":    {form: formText, match: equalFold},
	"StringNotEqualsIgnoreCase": {form: formText, match: equalFold, negated: true},
	"StringLike":                {form: formText, match: like},
	"StringNotLike":             {form: formText, match: like, negated: true},
	"ArnEquals":                 {form: formARN, match: like},
	"ArnNotEquals":              {form: formARN, match: like, negated: true},
	"ArnLike":                   {form: formARN, match: like},
	"ArnNotLike":                {form: formARN, match: like, negated: true},
	"NumericEquals":             {form: formNumber, match: numbers(func(a, b float64) bool { return a == b })},
	"NumericNotEquals":          {form: formNumber, match: numbers(func(a, b float64) bool { return a == b }), negated: true},
	"NumericLessThan":           {form: formNumber, match: numbers(func(a, b float64) bool { return a < b })},
	"NumericLessThanEquals":     {form: formNumber, match: numbers(func(a, b float64) bool { return a <= b })},
	"NumericGreaterThan":        {form: formNumber, match: numbers(func(a, b float64) bool { return a > b })},
	"NumericGreaterThanEquals":  {form: formNumber, match: numbers(func(a, b float64) bool { return a >= b })},
	"DateEquals":                {form: formDate, match: dates(func(c int) bool { return c == 0 })},
	"DateNotEquals":             {form: formDate, match: dates(func(c int) bool { return c == 0 }), negated: true},
	"DateLessThan":              {form: formDate, match: dates(func(c int) bool { return c < 0 })},
	"DateLessThanEquals":        {form: formDate, match: dates(func(c int) bool { return c <= 0 })},
	"DateGreaterThan":           {form: formDate, match: dates(func(c int) bool { return c > 0 })},
	"DateGreaterThanEquals":     {form: formDate, match: dates(func(c int) bool { return c >= 0 })},
	"Bool":                      {form: formTruth, match: equalFold},
	"IpAddress":                 {form: formAddress, match: inNetwork},
	"NotIpAddress":              {form: formAddress, match: inNetwork, negated: true},
}

// match reports whether a condition holds. One value of the request must match; with a negated operator no
// value may. A key without a value matches negated operators and those with IfExists only.
func (c *condition) match(r *Request) bool {
	values := r.Keys[c.key]
	if c.isNull {
		return slices.ContainsFunc(c.wanted, func(text string) bool {
			return strings.EqualFold(text,
				strconv.FormatBool(len(values) == 0))
		})
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
	plain, known := literally(wanted, r)
	return known && got == plain
}

func equalFold(got, wanted string, r *Request) bool {
	plain, known := literally(wanted, r)
	return known && strings.EqualFold(got, plain)
}

func like(got, wanted string, r *Request) bool {
	matched, _ := matchVariables(wanted, got, r)
	return matched
}

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

// parseDate parses a date of ISO 8601, or seconds since 1970.
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
