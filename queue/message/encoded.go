package message

import (
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Format tells what the bytes of a body are. The numbers are stored.
type Format uint8

// Formats of messages.
const (
	// FormatText is text that SQS and SNS can carry.
	FormatText Format = iota
	// FormatBytes is any bytes, perhaps none.
	FormatBytes
	// FormatAMQP is the encoded body sections and footer of an AMQP 1.0 message.
	FormatAMQP
)

// Encoded holds the parts of a message that plain text lacks. Most messages have none: nil. It never
// changes, so messages share it.
type Encoded struct {
	Format Format
	// Sections are the encoded sections of an AMQP 1.0 message before its body, as sent. Sections and
	// body together are the message byte for byte.
	Sections string
	// Changes apply to the properties as sent, sorted by scope and name.
	Changes []Change
}

// Scope is the kind of a property of AMQP 1.0. The numbers are stored.
type Scope uint8

// Scopes of properties.
const (
	ScopeApplication Scope = iota // application-properties
	ScopeSystem                   // properties, such as subject
)

// Change sets or removes one property after the message was sent.
type Change struct {
	Scope Scope
	Name  string
	// Value is encoded as in AMQP 1.0. Empty: the property is removed.
	Value string
}

// ChangesBytesMax bounds names and values of the changes of one message; ours.
const ChangesBytesMax = 64 << 10

// OrNil returns e, or nil if there is nothing in it.
func (e *Encoded) OrNil() *Encoded {
	if e == nil || e.Format == FormatText && e.Sections == "" && len(e.Changes) == 0 {
		return nil
	}
	return e
}

// IsText reports whether the body is text. e may be nil.
func (e *Encoded) IsText() bool { return e == nil || e.Format == FormatText }

// Size returns the bytes that count in the size of a message. e may be nil.
func (e *Encoded) Size() int64 {
	if e == nil {
		return 0
	}
	return int64(len(e.Sections) + changesSize(e.Changes))
}

func changesSize(changes []Change) (n int) {
	for i := range changes {
		n += len(changes[i].Name) + len(changes[i].Value)
	}
	return n
}

// Check checks the parts of a message with their body. It does not read AMQP sections.
func (e *Encoded) Check(body string) *refusal.Error {
	switch {
	case e.Format > FormatAMQP:
		return refusal.InvalidParameter("The format of the message is unknown, or it has more than one body.")
	case e.Sections != "" && e.Format != FormatAMQP:
		return refusal.InvalidParameter("Only AMQP messages have sections.")
	case e.Format == FormatAMQP && e.Sections == "" && body == "":
		return refusal.InvalidParameter("The AMQP message has no sections.")
	}
	if err := CheckChanges(e.Changes); err != nil {
		return err
	}
	if !slices.IsSortedFunc(e.Changes, compareChanges) || hasRepeated(e.Changes) {
		return refusal.InvalidParameter("The changed properties must be sorted by scope and name, each at most once.")
	}
	return nil
}

// CheckChanges checks the changes of one settlement.
func CheckChanges(changes []Change) *refusal.Error {
	for i := range changes {
		c := &changes[i]
		if c.Scope > ScopeSystem || c.Name == "" || strings.ToValidUTF8(c.Name, "") != c.Name {
			return refusal.InvalidParameter("The name or the scope of a changed property is invalid.")
		}
	}
	if changesSize(changes) > ChangesBytesMax {
		return tooManyChanges()
	}
	return nil
}

func tooManyChanges() *refusal.Error {
	return refusal.InvalidParameter("The changed properties of a message must not exceed 64 KiB.")
}

// With returns the parts of a message after further changes; of the same property, the last one
// counts. e may be nil.
func (e *Encoded) With(changes []Change) (*Encoded, *refusal.Error) {
	if len(changes) == 0 {
		return e, nil
	}
	var out Encoded
	if e != nil {
		out = *e
	}
	if out.Changes = MergeChanges(out.Changes, changes); changesSize(out.Changes) > ChangesBytesMax {
		return nil, tooManyChanges()
	}
	return &out, nil
}

// MergeChanges returns changes followed by later ones, sorted. Of the same property, the last one counts.
func MergeChanges(changes, later []Change) []Change {
	all := append(slices.Clip(slices.Clone(changes)), later...)
	slices.SortStableFunc(all, compareChanges)
	out := make([]Change, 0, len(all))
	for i := range all {
		if i+1 == len(all) || compareChanges(all[i], all[i+1]) != 0 {
			out = append(out, all[i])
		}
	}
	return out
}

func compareChanges(a, b Change) int {
	if a.Scope != b.Scope {
		return int(a.Scope) - int(b.Scope)
	}
	return strings.Compare(a.Name, b.Name)
}

func hasRepeated(sorted []Change) bool {
	for i := 1; i < len(sorted); i++ {
		if compareChanges(sorted[i-1], sorted[i]) == 0 {
			return true
		}
	}
	return false
}

// Clone returns a copy that shares no memory with e, which may be nil.
func (e *Encoded) Clone() *Encoded {
	if e == nil {
		return nil
	}
	out := Encoded{Format: e.Format, Sections: strings.Clone(e.Sections), Changes: slices.Clone(e.Changes)}
	for i := range out.Changes {
		c := &out.Changes[i]
		c.Name, c.Value = strings.Clone(c.Name), strings.Clone(c.Value)
	}
	return &out
}

// AppendTo adds the parts to a record for a hash. e may be nil, which adds nothing.
func (e *Encoded) AppendTo(r statehash.Record) statehash.Record {
	if e == nil {
		return r
	}
	r = append(r, statehash.KindEncoded, byte(e.Format)).Text(e.Sections).Num(uint64(len(e.Changes)))
	for i := range e.Changes {
		c := &e.Changes[i]
		r = append(r, byte(c.Scope)).Text(c.Name).Text(c.Value)
	}
	return r
}

// EmptyGroup is the group id of the session whose id is empty. No other id has U+0000.
const EmptyGroup = "\x00"

// ValidNativeID reports whether an id that comes by another API than SQS or SNS has 1 to 128
// characters of UTF-8, without U+0000.
func ValidNativeID(id string) bool {
	if len(id) <= limits.IDLengthMax && ValidID(id) {
		return true
	}
	n := 0
	for i, r := range id {
		if r == 0 || r == 0xFFFD && !strings.HasPrefix(id[i:], "\uFFFD") {
			return false
		}
		n++
	}
	return n >= 1 && n <= limits.IDLengthMax
}

// ValidNativeGroup is ValidNativeID for a group, which may also be EmptyGroup.
func ValidNativeGroup(id string) bool { return id == EmptyGroup || ValidNativeID(id) }

// InvalidNativeID returns the error for an id that is not a ValidNativeID.
func InvalidNativeID(value, name string) *refusal.Error {
	return refusal.InvalidValue(value, name, name+" must have 1 to 128 characters of UTF-8, without U+0000.")
}
