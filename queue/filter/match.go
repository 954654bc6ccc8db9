package filter

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// Attribute is a message attribute as sent.
type Attribute struct{ Name, DataType, Value string }

// Message is a published message. It caches parsed parts between policies. One goroutine uses it.
type Message struct {
	attributes []Attribute
	body       string

	read   reading         // of the body
	arrays []reading       // of array attributes, if a policy needs them
	leaves [KeysMax]leaves // reused memory
}

// leaves are the values at a path, at most ValuesMax.
type leaves []jsontext.Value

func (l *leaves) add(v jsontext.Value) {
	if len(*l) < ValuesMax {
		*l = append(*l, v)
	}
}

// reading is a text that is parsed as JSON once.
type reading struct {
	done bool
	ok   bool
	root jsontext.Value
}

// NewMessage returns a message to match. Do not change attributes while it is used.
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

// finding is the result at a path.
type finding struct {
	present bool
	plain   value  // of an attribute that is not an array
	leaves  leaves // in a body or an array
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

// Unmet lists the keys of required conditions that a message does not meet, in the order of the
// policy. It may be empty for a message that no alternative of an $or matches.
func (p *Policy) Unmet(m *Message) (keys []string) {
	if p == nil {
		return nil
	}
	var found [KeysMax]finding
	if p.scope == MessageAttributes {
		m.findAttributes(p.names, &found)
	} else if !m.findInBody(p.names, &found) {
		return nil
	}
	for i := range p.root.terms {
		if t := &p.root.terms[i]; !t.met(&found[t.name]) {
			keys = append(keys, p.names[t.name])
		}
	}
	return keys
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

// findAttributes looks up attributes by name.
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

// findAttribute reads attribute j for path i. SNS ignores Binary attributes.
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

// elements returns the values of attribute j, if it is an array of plain values.
func (m *Message) elements(j, i int) leaves {
	if m.arrays == nil {
		m.arrays = make([]reading, len(m.attributes))
	}
	const depth = 1 // no nested array or object
	if !m.arrays[j].of(m.attributes[j].Value, depth, jsontext.KindArray) {
		return nil
	}
	m.leaves[i] = m.leaves[i][:0]
	for e := range m.arrays[j].root.Elements() {
		m.leaves[i].add(e)
	}
	return m.leaves[i]
}

// findInBody finds the values at paths. It returns false if the body is not a JSON object.
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

// progress is the matched part of each path: the offset of the next name, pathEnded at the end, or
// pathLeft after a mismatch.
type progress [KeysMax]int

const (
	pathEnded = -1
	pathLeft  = -2
)

// walk finds paths in a body.
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

// step enters the member with a name.
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
