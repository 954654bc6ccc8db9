package filter

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/lettercase"
)

// conditions is a list of alternative conditions. Named values are sorted for binary search.
type conditions struct {
	absent, present bool  // exists
	words           uint8 // one bit for each kind of true, false and null
	texts           []string
	folded          []string // equals-ignore-case
	numbers         []decimal
	others          []condition
}

// operator is the operator of a condition.
type operator uint8

const (
	opPrefix operator = iota
	opSuffix
	opNetwork
	opRange
	opAnythingBut
)

// condition is a condition other than a named value.
type condition struct {
	operator operator
	text     string // for opPrefix and opSuffix
	low      bound  // for opRange
	high     bound
	network  network
	except   *conditions // for opAnythingBut
}

// bound is one end of a range.
type bound struct {
	at   decimal
	is   bool // there is a bound
	open bool // excludes at
}

// value is one value in a message.
type value struct {
	kind   jsontext.Kind
	text   string // of a string
	number decimal

	lookedAt  bool // the text was parsed as an address
	isAddress bool
	address   address
}

// inNetwork reports whether a string is an address in a network. The first call parses it.
func (v *value) inNetwork(n *network) bool {
	if !v.lookedAt {
		v.lookedAt = true
		v.address, v.isAddress = parseAddress(v.text)
	}
	return v.isAddress && n.contains(v.address)
}

// valueOf converts a JSON value.
func valueOf(v jsontext.Value) value {
	switch kind := v.Kind(); kind {
	case jsontext.KindString:
		return value{kind: kind, text: v.Text()}
	case jsontext.KindNumber:
		number, _ := parseDecimal(v.Raw())
		return value{kind: kind, number: number}
	default:
		return value{kind: kind}
	}
}

// met reports whether a value meets one of the conditions.
func (c *conditions) met(v *value) bool {
	switch v.kind {
	case jsontext.KindString:
		if isIn(c.texts, v.text) || len(c.folded) > 0 && isIn(c.folded, lettercase.Folded(v.text)) {
			return true
		}
	case jsontext.KindNumber:
		if _, found := slices.BinarySearchFunc(c.numbers, v.number, decimal.compare); found {
			return true
		}
	default:
		if c.words&(1<<v.kind) != 0 {
			return true
		}
	}
	for i := range c.others {
		if c.others[i].met(v) {
			return true
		}
	}
	return false
}

func isIn(sorted []string, text string) bool {
	_, found := slices.BinarySearch(sorted, text)
	return found
}

func (c *condition) met(v *value) bool {
	isString := v.kind == jsontext.KindString
	switch c.operator {
	case opPrefix:
		return isString && strings.HasPrefix(v.text, c.text)
	case opSuffix:
		return isString && strings.HasSuffix(v.text, c.text)
	case opNetwork:
		return isString && v.inNetwork(&c.network)
	case opRange:
		return v.kind == jsontext.KindNumber && c.inRange(v.number)
	default: // opAnythingBut
		return !c.except.met(v)
	}
}

func (c *condition) inRange(n decimal) bool {
	if c.low.is {
		if order := n.compare(c.low.at); order < 0 || order == 0 && c.low.open {
			return false
		}
	}
	if c.high.is {
		if order := n.compare(c.high.at); order > 0 || order == 0 && c.high.open {
			return false
		}
	}
	return true
}

// sort sorts the named values.
func (c *conditions) sort() {
	slices.Sort(c.texts)
	slices.Sort(c.folded)
	slices.SortFunc(c.numbers, decimal.compare)
}
