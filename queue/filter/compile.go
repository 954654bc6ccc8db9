package filter

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// orName marks a list of alternatives.
const orName = "$or"

// reservedNames make $or an ordinary name if an alternative contains one of them (developer guide;
// the list is from event-ruler).
var reservedNames = []string{
	"exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard", "numeric", "cidr",
	"=", "<", "<=", ">", ">=",
	"regex", "not-wildcard", "not-equals-ignore-case",
	"date-after", "date-on-or-after", "date-before", "date-on-or-before", "in-date-range",
	"ip-address-in-range", "ip-address-not-in-range",
}

// compiler compiles one policy. It stops at the first error, so a policy that is too large costs
// little.
type compiler struct {
	text  string
	scope Scope
	path  []string // names of the enclosing members
	names []string
}

// object compiles an object and counts its combinations: the product of the counts of its members.
// A path counts its conditions times its depth; alternatives count their sum.
func (c *compiler) object(v jsontext.Value) (o clause, combinations int64, err error) {
	if isEmpty(v) {
		return clause{}, 0, located(c.text, v.End(), "Empty objects are not allowed")
	}
	combinations = 1
	var seen []string
	for name, value := range v.Members() {
		factor, err := c.member(&o, name.Text(), value, slices.Contains(seen, name.Text()))
		if err != nil {
			return clause{}, 0, err
		}
		if combinations *= factor; combinations > CombinationsMax {
			return clause{}, 0, errTooComplex
		}
		seen = append(seen, name.Text())
	}
	return o, combinations, nil
}

// member adds a member to an object and returns its combinations.
func (c *compiler) member(o *clause, name string, v jsontext.Value, repeated bool) (combinations int64, err error) {
	if name == orName && isAlternatives(v) && !repeated {
		return c.alternatives(o, v)
	}
	if len(c.path) == CombinationsMax {
		return 0, errTooComplex // the depth alone exceeds the limit
	}
	c.path = append(c.path, name)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	if repeated {
		return 0, c.refuse(v, "Path `"+shortened(strings.Join(c.path, "."))+"` cannot be allowed multiple times")
	}
	switch v.Kind() {
	case jsontext.KindArray:
		return c.term(o, v)
	case jsontext.KindObject:
		inner, combinations, err := c.object(v)
		if err != nil {
			return 0, err
		}
		if c.scope == MessageAttributes {
			return 0, errNested
		}
		o.terms = append(o.terms, inner.terms...)
		o.alternatives = append(o.alternatives, inner.alternatives...)
		return combinations, nil
	default:
		return 0, c.refuse(v, `"`+shortened(name)+`" must be an object or an array`)
	}
}

// term adds the conditions of the current path to an object.
func (c *compiler) term(o *clause, list jsontext.Value) (combinations int64, err error) {
	conditions, n, err := c.conditions(list)
	if err != nil {
		return 0, err
	}
	name, err := c.name(strings.Join(c.path, "."))
	if err != nil {
		return 0, err
	}
	o.terms = append(o.terms, term{name, conditions})
	return int64(n) * int64(len(c.path)), nil
}

// alternatives adds a list of alternatives to an object.
func (c *compiler) alternatives(o *clause, list jsontext.Value) (combinations int64, err error) {
	var alternatives []clause
	for v := range list.Elements() {
		alternative, n, err := c.object(v)
		if err != nil {
			return 0, err
		}
		if combinations += n; combinations > CombinationsMax {
			return 0, errTooComplex
		}
		alternatives = append(alternatives, alternative)
	}
	o.alternatives = append(o.alternatives, alternatives)
	return combinations, nil
}

// refuse returns an error at the position where SNS's reader detects v.
func (c *compiler) refuse(v jsontext.Value, reason string) error {
	return located(c.text, behindNext(v), reason)
}

// name returns the index of a path, adding it if new.
func (c *compiler) name(joined string) (int, error) {
	if i := slices.Index(c.names, joined); i >= 0 {
		return i, nil
	}
	if len(c.names) == KeysMax {
		return 0, errTooManyKeys
	}
	c.names = append(c.names, joined)
	return len(c.names) - 1, nil
}

// isAlternatives reports whether the value of $or is a list of alternatives: at least two objects
// without a reserved name.
func isAlternatives(v jsontext.Value) bool {
	n := 0
	for e := range v.Elements() {
		if e.Kind() != jsontext.KindObject {
			return false
		}
		for name := range e.Members() {
			if slices.Contains(reservedNames, name.Text()) {
				return false
			}
		}
		n++
	}
	return n >= 2
}

func isEmpty(object jsontext.Value) bool {
	for range object.Members() {
		return false
	}
	return true
}
