package filter

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// Attribute is a message attribute, in the fields that a filter looks at. The value
// is what was sent.
type Attribute struct{ Name, DataType, Value string }

// Message is a published message. It remembers what was read of it for one policy
// for the next. It is used by one goroutine.
type Message struct {
	attributes []Attribute
	body       string

	read   reading         // of the body
	arrays []reading       // of the attributes that are arrays, if a policy needs one
	leaves [KeysMax]leaves // memory that is used again
}

// leaves are the values at the end of a path, as many as count.
type leaves []jsontext.Value

func (l *leaves) add(v jsontext.Value) {
	if len(*l) < ValuesMax {
		*l = append(*l, v)
	}
}

// reading is a text that was read as JSON, once.
type reading struct {
	done bool
	ok   bool
	root jsontext.Value
}

// NewMessage is a message that is about to be matched. The attributes must not
// change meanwhile.
func NewMessage(attributes []Attribute, body string) *Message {
	return &Message{attributes: attributes, body: body}
}

func (r *reading) of(text string, depthMax int, kind jsontext.Kind) bool {
	if !r.done {
		root, err := jsontext.Parse(text, depthMax)
		*r = reading{done: true, ok: err == nil && root.Kind() == kind, root: root}
	}
	return r.ok
}

// finding is what a message has at a path.
type finding struct {
	present bool
	plain   value  // of an attribute that is not an array
	leaves  leaves // in a body or in an array
}

// Match reports whether a message passes the policy.
func (p *Policy) Match(m *Message) bool {
	if p == nil {
		return true
	}
	var found [KeysMax]finding
	if p.scope == MessageAttributes {
		m.findAttributes(p.names, &found)
	} else if !m.findInBody(p.names, &found) {
		return false
	}
	return p.root.met(&found)
}

func (c *clause) met(found *[KeysMax]finding) bool {
	for i := range c.terms {
		if !c.terms[i].met(&found[c.terms[i].name]) {
			return false
		}
	}
	for _, alternatives := range c.alternatives {
		if !anyMet(alternatives, found) {
			return false
		}
	}
	return true
}

func anyMet(alternatives []clause, found *[KeysMax]finding) bool {
	for i := range alternatives {
		if alternatives[i].met(found) {
			return true
		}
	}
	return false
}

func (t *term) met(f *finding) bool {
	if !f.present {
		return t.conditions.absent
	}
	if t.conditions.present || f.plain.kind != 0 && t.conditions.met(&f.plain) {
		return true
	}
	for _, leaf := range f.leaves {
		v := valueOf(leaf)
		if t.conditions.met(&v) {
			return true
		}
	}
	return false
}

// findAttributes looks up the attributes of the given names.
func (m *Message) findAttributes(names []string, found *[KeysMax]finding) {
	for i, name := range names {
		for j := range m.attributes {
			if m.attributes[j].Name == name {
				m.findAttribute(j, i, &found[i])
				break
			}
		}
	}
}

// findAttribute reads attribute j, which is what stands at path i. SNS ignores
// Binary attributes.
func (m *Message) findAttribute(j, i int, found *finding) {
	a := &m.attributes[j]
	base, _, _ := strings.Cut(a.DataType, ".")
	switch {
	case a.DataType == "String.Array" || a.DataType == "Number.Array":
		*found = finding{present: true, leaves: m.elements(j, i)}
	case base == "String":
		*found = finding{present: true, plain: value{kind: jsontext.KindString, text: a.Value}}
	case base == "Number":
		found.present = true
		if n, ok := parseDecimal(a.Value); ok {
			found.plain = value{kind: jsontext.KindNumber, number: n}
		}
	}
}

// elements are the values in attribute j, if it is an array of plain values.
func (m *Message) elements(j, i int) leaves {
	if m.arrays == nil {
		m.arrays = make([]reading, len(m.attributes))
	}
	const depth = 1 // no array or object in the array
	if !m.arrays[j].of(m.attributes[j].Value, depth, jsontext.KindArray) {
		return nil
	}
	m.leaves[i] = m.leaves[i][:0]
	for e := range m.arrays[j].root.Elements() {
		m.leaves[i].add(e)
	}
	return m.leaves[i]
}

// findInBody looks for the values at the given paths; false if the body is not a
// JSON object.
func (m *Message) findInBody(names []string, found *[KeysMax]finding) bool {
	if !m.read.of(m.body, depthMax, jsontext.KindObject) {
		return false
	}
	w := walk{names: names, message: m}
	for i := range m.leaves {
		m.leaves[i] = m.leaves[i][:0]
		if i >= len(names) {
			w.begin[i] = pathLeft
		}
	}
	w.value(m.read.root, w.begin)
	for i := range names {
		found[i] = finding{present: len(m.leaves[i]) > 0, leaves: m.leaves[i]}
	}
	return true
}

// progress is for each path how much of it leads to a value: the number of bytes
// up to the next name, pathEnded if it ends there, pathLeft if it leads elsewhere.
type progress [KeysMax]int

const (
	pathEnded = -1
	pathLeft  = -2
)

// walk looks for paths in a body.
type walk struct {
	names   []string
	message *Message
	begin   progress
}

func (w *walk) value(v jsontext.Value, p progress) {
	switch v.Kind() {
	case jsontext.KindObject:
		for name, member := range v.Members() {
			if next, leads := w.step(p, name.Text()); leads {
				w.value(member, next)
			}
		}
	case jsontext.KindArray:
		for e := range v.Elements() {
			w.value(e, p)
		}
	default:
		for i := range p {
			if p[i] == pathEnded {
				w.message.leaves[i].add(v)
			}
		}
	}
}

// step goes to the member of a name.
func (w *walk) step(p progress, name string) (next progress, leads bool) {
	for i, at := range p {
		next[i] = pathLeft
		if at < 0 {
			continue
		}
		rest, has := strings.CutPrefix(w.names[i][at:], name)
		switch {
		case !has:
		case rest == "":
			next[i], leads = pathEnded, true
		case rest[0] == '.':
			next[i], leads = len(w.names[i])-len(rest)+1, true
		}
	}
	return next, leads
}
