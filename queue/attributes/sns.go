package attributes

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// Beginnings of the errors of SNS: for an attribute of a new topic or subscription, and for one that
// is changed.
const (
	prefixCreate = "Invalid parameter: Attributes Reason: "
	prefixSet    = "Invalid parameter: "
)

// snsError completes the error of a row. It may quote any bytes of a value, or end within a
// character.
func snsError(prefix string, err *refusal.Error) *refusal.Error {
	if err == nil {
		return nil
	}
	return refusal.New(refusal.SNSInvalidParameter, prefix, strings.ToValidUTF8(err.Message, "\ufffd"))
}

// badValue refuses a value in the form of SNS.
func badValue(name, value, rule string) *refusal.Error {
	return refusal.New(refusal.SNSInvalidParameter, name, ": Invalid value [", refusal.Echo(value), "]. ", rule)
}

// noSuchAttribute is the error of SNS for an attribute that does not exist, cannot be set, or exists
// on FIFO topics only.
func noSuchAttribute() *refusal.Error {
	return refusal.New(refusal.SNSInvalidParameter, "AttributeName")
}

// request is a request that sets attributes of a topic or subscription.
type request struct {
	given  []Attribute
	in     Assignment
	fifo   bool // the topic
	change bool // the topic or subscription exists
}

// assign sets the attributes of a request, or refuses the first that cannot be set. Like SNS, it
// looks at all names first.
func (t *table[T]) assign(a *T, q request, extensions *ExtensionSet) *refusal.Error {
	for _, early := range [...]bool{true, false} {
		for _, g := range q.given {
			r, err := t.settable(g.Name, q.fifo)
			if err == nil && r.fixed && q.change && r.extension == 0 {
				err = noSuchAttribute() // recorded at SNS
			}
			if err == nil && r.early == early {
				err = t.set(a, r, g.Value, q.in, extensions)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
