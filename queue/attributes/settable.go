package attributes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// How SNS begins the text of a refusal: that of an attribute of a new topic or
// subscription, and that of one which is changed.
const (
	prefixCreate = "Invalid parameter: Attributes Reason: "
	prefixSet    = "Invalid parameter: "
)

// unknownName is all that SNS says of an attribute that does not exist, cannot be
// set, or exists on FIFO topics only.
const unknownName = "AttributeName"

// settable is one row: all that is known about one attribute of a topic or a
// subscription.
type settable[T any] struct {
	name     string
	since    uint32 // the format version it came with
	takes    takes
	fifoOnly bool // exists on FIFO topics only
	fixed    bool // can only be given at creation
	readOnly bool // is listed, and never given
	early    bool // is read before those that are not
	parse    parseSettable[T]
	print    printSettable[T]
	// same compares two values that print differently but mean the same;
	// nil compares what is printed.
	same func(a, b *T) bool
}

type (
	// parseSettable sets an attribute, or says what is wrong with the value
	// without the beginning that depends on the request.
	parseSettable[T any] func(a *T, value string, in Assignment) (reason string)
	// printSettable is the value, also a default, and whether it is listed.
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

// sorted sorts rows by name, each of which must say what it takes since when.
func sorted[T any](rows settables[T]) settables[T] {
	for i := range rows {
		rows[i].takes.mustSay(rows[i].name, rows[i].since)
	}
	slices.SortFunc(rows, func(a, b settable[T]) int { return strings.Compare(a.name, b.name) })
	return rows
}

// find is the row of an attribute, nil if there is none.
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
	change bool // what is set exists already
}

// assign sets the attributes of a request, or says what is wrong with the first
// that cannot be set.
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

// equal compares the attributes of a request only.
func (rows settables[T]) equal(a, b *T, given []Attribute) bool {
	for _, g := range given {
		if !rows.find(g.Name).equal(a, b) {
			return false
		}
	}
	return true
}

// list gives what is listed, sorted by name.
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

// refuse is the refusal of a reason, nil for none.
func refuse(prefix, reason string) *refusal.Error {
	if reason == "" {
		return nil
	}
	// What is repeated of a value may be any bytes, or end within a character.
	return refusal.New(refusal.SNSInvalidParameter, prefix, strings.ToValidUTF8(reason, "\ufffd"))
}

// badValue says what a value has to be, in the form of SNS.
func badValue(name, value, rule string) string {
	return name + ": Invalid value [" + refusal.Echo(value) + "]. " + rule
}

// badChoice refuses a value that is none of the words.
func badChoice(name, value string, w words) string {
	texts := make([]string, len(w))
	for i := range w {
		texts[i] = w[i].text
	}
	return badValue(name, value, "Please use either "+strings.Join(texts, " or "))
}

// settableFlag is a boolean, read without regard to letter case and printed in
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
