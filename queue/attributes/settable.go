package attributes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// Beginnings of SNS errors: for an attribute of a new topic or subscription, and for a changed
// attribute.
const (
	prefixCreate = "Invalid parameter: Attributes Reason: "
	prefixSet    = "Invalid parameter: "
)

// unknownName is the only text of SNS for an attribute that does not exist, cannot be set, or
// exists on FIFO topics only.
const unknownName = "AttributeName"

// settable is the row of one attribute of a topic or a subscription.
type settable[T any] struct {
	name     string
	since    uint32 // the format version that introduced it
	takes    takes
	fifoOnly bool // exists on FIFO topics only
	fixed    bool // it can be set at creation only
	readOnly bool // it is listed, but cannot be set
	early    bool // it is parsed before the attributes that are not early
	parse    parseSettable[T]
	print    printSettable[T]
	// same compares values that may print differently but mean the same; nil compares the printed
	// values.
	same func(a, b *T) bool
}

type (
	// parseSettable sets an attribute, or returns the reason why the value is invalid. The caller
	// adds the beginning of the text, which depends on the request.
	parseSettable[T any] func(a *T, value string, in Assignment) (reason string)
	// printSettable returns the value, even a default, and whether it is listed.
	printSettable[T any] func(a *T) (value string, listed bool)
)

func (r settable[T]) onFIFO() settable[T] {
	r.fifoOnly = true
	return r
}

func (r settable[T]) comparedBy(same func(a, b *T) bool) settable[T] {
	r.same = same
	return r
}

func (r *settable[T]) equal(a, b *T) bool {
	if r.same != nil {
		return r.same(a, b)
	}
	v, _ := r.print(a)
	w, _ := r.print(b)
	return v == w
}

// settables are the rows of a table, sorted by name.
type settables[T any] []settable[T]

// sorted sorts rows by name. It panics if a row lacks its format version or its values.
func sorted[T any](rows settables[T]) settables[T] {
	for i := range rows {
		rows[i].takes.mustSay(rows[i].name, rows[i].since)
	}
	slices.SortFunc(rows, func(a, b settable[T]) int { return strings.Compare(a.name, b.name) })
	return rows
}

// find returns the row of an attribute, nil if there is none.
func (rows settables[T]) find(name string) *settable[T] {
	i, found := slices.BinarySearchFunc(rows, name, func(r settable[T], name string) int {
		return strings.Compare(r.name, name)
	})
	if !found {
		return nil
	}
	return &rows[i]
}

// assignment is a request to set attributes.
type assignment struct {
	given  []Attribute
	in     Assignment
	fifo   bool // of the topic
	change bool // the topic or subscription exists already
}

// assign sets the attributes of a request. It returns the reason why the first invalid one is
// refused, "" if all are set.
func (rows settables[T]) assign(a *T, q assignment) (reason string) {
	for _, early := range [...]bool{true, false} {
		for _, g := range q.given {
			r := rows.find(g.Name)
			if r == nil || r.readOnly || r.fifoOnly && !q.fifo || r.fixed && q.change {
				return unknownName
			}
			if r.early != early {
				continue
			}
			if reason := r.parse(a, g.Value, q.in); reason != "" {
				return reason
			}
		}
	}
	return ""
}

// equal compares only the attributes that are in given.
func (rows settables[T]) equal(a, b *T, given []Attribute) bool {
	for _, g := range given {
		if !rows.find(g.Name).equal(a, b) {
			return false
		}
	}
	return true
}

// list returns the listed attributes, sorted by name.
func (rows settables[T]) list(a *T, fifo bool) []Attribute {
	listed := make([]Attribute, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		if r.fifoOnly && !fifo {
			continue
		}
		if v, ok := r.print(a); ok {
			listed = append(listed, Attribute{r.name, v})
		}
	}
	return listed
}

// refuse returns the error for a reason, nil if there is none.
func refuse(prefix, reason string) *refusal.Error {
	if reason == "" {
		return nil
	}
	// The quoted value may have any bytes, or end within a character.
	return refusal.New(refusal.SNSInvalidParameter, prefix, strings.ToValidUTF8(reason, "\ufffd"))
}

// badValue returns the reason for an invalid value, in the form of SNS.
func badValue(name, value, rule string) string {
	return name + ": Invalid value [" + refusal.Echo(value) + "]. " + rule
}

// badChoice returns the reason for a value that is none of the words.
func badChoice(name, value string, w words) string {
	texts := make([]string, len(w))
	for i := range w {
		texts[i] = w[i].text
	}
	return badValue(name, value, "Please use either "+strings.Join(texts, " or "))
}

// settableFlag returns the row of a boolean. Its value is parsed in any letter case and printed in
// lower case, as SNS does.
func settableFlag[T any](name string, since uint32, field func(*T) *bool) settable[T] {
	return settable[T]{
		name: name, since: since, takes: takesText("true or false"),
		parse: func(a *T, value string, _ Assignment) string {
			on, ok := ParseBool(value)
			if !ok {
				return badValue(name, value, "Must be true or false.")
			}
			*field(a) = on
			return ""
		},
		print: func(a *T) (string, bool) { return strconv.FormatBool(*field(a)), true },
	}
}
