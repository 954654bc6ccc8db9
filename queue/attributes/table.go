package attributes

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// attribute is a row of a table: one attribute of a queue, a topic or a subscription.
type attribute[T any] struct {
	name      string
	since     uint32 // the format version that introduced it
	kind      kind
	does      string // one or two sentences for the reference
	takes     takes
	fixed     bool         // can only be given at creation
	readOnly  bool         // is listed, and never given
	loses     string       // what is lost when the value becomes lower
	early     bool         // is read before those that are not
	extension ExtensionSet // its bit; zero for the attributes of AWS
	parse     func(a *T, s setting) *refusal.Error
	print     func(a *T) (value string, listed bool) // value may be a default that is not listed
	// same compares two values that print differently but mean the same; nil compares the printed
	// values.
	same func(a, b *T) bool
}

// kind says which queues or topics have an attribute, and how AWS refuses it on the others.
type kind uint8

const (
	onAny       kind = iota
	onFIFO           // unknown on the others
	onFIFONamed      // on the others, the error names FifoQueue: the newer attributes of queues
)

func (r attribute[T]) as(bit ExtensionSet) attribute[T] {
	r.extension = bit
	return r
}

func (r attribute[T]) atCreation() attribute[T] {
	r.fixed = true
	return r
}

func (r attribute[T]) losing(what string) attribute[T] {
	r.loses = what
	return r
}

func (r attribute[T]) comparedBy(same func(a, b *T) bool) attribute[T] {
	r.same = same
	return r
}

// then adds an effect of a valid value.
func (r attribute[T]) then(effect func(*T)) attribute[T] {
	parse := r.parse
	r.parse = func(a *T, s setting) *refusal.Error {
		if err := parse(a, s); err != nil {
			return err
		}
		effect(a)
		return nil
	}
	return r
}

func (r *attribute[T]) equal(a, b *T) bool {
	if r.same != nil {
		return r.same(a, b)
	}
	v, _ := r.print(a)
	w, _ := r.print(b)
	return v == w
}

// row completes an attribute of which the values are known.
func row[T any](name string, since uint32, kind kind, does string, values attribute[T]) attribute[T] {
	values.name, values.since, values.kind, values.does = name, since, kind, does
	return values
}

// table holds the attributes of queues, of topics or of subscriptions, sorted by name. It never
// changes.
type table[T any] struct {
	rows []attribute[T]
	sns  bool // errors have the form of SNS, not that of SQS
}

// newTable panics on a row that does not say its format version, its values and what it does.
func newTable[T any](sns bool, rows ...attribute[T]) *table[T] {
	for i := range rows {
		rows[i].takes.mustSay(rows[i].name, rows[i].since)
		if rows[i].does == "" {
			panic("attributes: the row of " + rows[i].name + " needs to say what it does")
		}
	}
	slices.SortFunc(rows, func(a, b attribute[T]) int { return strings.Compare(a.name, b.name) })
	return &table[T]{rows, sns}
}

// find returns the row of an attribute, nil if there is none.
func (t *table[T]) find(name string) *attribute[T] {
	i, found := slices.BinarySearchFunc(t.rows, name, func(r attribute[T], name string) int { return strings.Compare(r.name, name) })
	if !found {
		return nil
	}
	return &t.rows[i]
}

// settable returns the row of an attribute that a queue or topic has and a client can set.
func (t *table[T]) settable(name string, fifo bool) (*attribute[T], *refusal.Error) {
	r := t.find(name)
	switch {
	case r != nil && !r.readOnly && (r.kind == onAny || fifo):
		return r, nil
	case t.sns:
		return nil, noSuchAttribute()
	case r != nil && r.kind == onFIFONamed:
		return nil, refusal.New(refusal.InvalidAttributeName, "You can specify the ", name, " only when FifoQueue is set to true.")
	}
	return nil, refusal.UnknownAttribute(name)
}

// set sets one attribute of a. set records the extensions.
func (t *table[T]) set(a *T, r *attribute[T], value string, in Assignment, set *ExtensionSet) *refusal.Error {
	if err := r.parse(a, setting{in, r.name, value, t.sns}); err != nil {
		return err
	}
	*set |= r.extension
	return nil
}

// equal compares the attributes of a request only.
func (t *table[T]) equal(a, b *T, given []Attribute) bool {
	return !slices.ContainsFunc(given, func(g Attribute) bool { return !t.find(g.Name).equal(a, b) })
}

// list returns the attributes that are listed, sorted by name. Extensions are listed if they were
// set.
func (t *table[T]) list(a *T, fifo bool, set ExtensionSet) []Attribute {
	listed := make([]Attribute, 0, len(t.rows))
	for i := range t.rows {
		r := &t.rows[i]
		if r.kind != onAny && !fifo || r.extension&^set != 0 {
			continue
		}
		if v, ok := r.print(a); ok {
			listed = append(listed, Attribute{r.name, v})
		}
	}
	return listed
}

// Assignment holds the parameters for parsing the value of an attribute.
type Assignment struct {
	MinimumWindow int64 // lower bound of the window attributes in seconds
}

// AnyWindow is for checks without the setting of the cluster. It accepts every window that a
// cluster may allow.
func AnyWindow() Assignment { return Assignment{MinimumWindow: 1} }

// setting is a value for one attribute.
type setting struct {
	in    Assignment
	name  string
	value string
	sns   bool
}

// invalid refuses the value. Only SNS quotes the value and the rule, a sentence.
func (s setting) invalid(rule string) *refusal.Error {
	if !s.sns {
		return Invalid(s.name)
	}
	return badValue(s.name, s.value, rule)
}

// malformed refuses the text of a policy.
func (s setting) malformed(reason string) *refusal.Error {
	if !s.sns {
		return refusal.InvalidValue(s.value, s.name, reason)
	}
	return refusal.New(refusal.SNSInvalidParameter, s.name, ": ", reason)
}
