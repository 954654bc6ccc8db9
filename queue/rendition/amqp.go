package rendition

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/property"
)

// AMQP returns the sections before the body, and the body, for an AMQP client. Properties are as
// changed, and message attributes are application properties.
func (m *Message) AMQP() (sections, body string) {
	body = m.Body
	var changes []message.Change
	if m.Encoded != nil {
		sections, changes = m.Encoded.Sections, m.Encoded.Changes
	}
	if m.Encoded == nil || m.Encoded.Format != message.FormatAMQP {
		body = Data(m.Body)
	}
	if len(changes) == 0 && len(m.Attributes) == 0 {
		return sections, body
	}
	properties, application := m.Properties()
	return replace(sections, properties, application), body
}

// Properties returns the sections with properties and application properties, each empty if there is
// none. They are as changed, and message attributes are application properties.
func (m *Message) Properties() (properties, application string) {
	var changes []message.Change
	if m.Encoded != nil {
		properties, application = find(m.Encoded.Sections, sectionProperties), find(m.Encoded.Sections, sectionApplication)
		changes = m.Encoded.Changes
	}
	if len(m.Attributes) > 0 || changesApplication(changes) {
		application = m.changedApplication()
	}
	return changedProperties(properties, changes), application
}

// replace puts other property sections into the sections before a body, in their order.
func replace(sections, properties, application string) string {
	var before, after strings.Builder
	for rest := sections; rest != ""; {
		s, next, ok := nextSection(rest)
		if !ok {
			break
		}
		if rest = next; s.kind < sectionProperties {
			before.WriteString(s.whole)
		} else if s.kind > sectionApplication {
			after.WriteString(s.whole)
		}
	}
	return before.String() + properties + application + after.String()
}

// fieldNames are the fields of the properties section, AMQP 1.0 part 3.2.4.
var fieldNames = [...]string{
	"message-id", "user-id", "to", "subject", "reply-to", "correlation-id", "content-type", "content-encoding",
	"absolute-expiry-time", "creation-time", "group-id", "group-sequence", "reply-to-group-id",
}

// systemFields are the fields by the names of Service Bus, for the changes by rules.
var systemFields = map[property.System]string{
	property.MessageID: "message-id", property.To: "to", property.Label: "subject", property.ReplyTo: "reply-to",
	property.CorrelationID: "correlation-id", property.ContentType: "content-type", property.SessionID: "group-id",
	property.ReplyToSessionID: "reply-to-group-id",
}

// fieldOf returns the place of a system property in the properties section, -1 if it is elsewhere.
func fieldOf(name string) int {
	if system, ok := property.ParseSystem(name); ok {
		name = systemFields[system]
	}
	for i, field := range fieldNames {
		if field == name {
			return i
		}
	}
	return -1
}

// changedProperties returns the properties section after changes.
func changedProperties(encoded string, changes []message.Change) string {
	fields, changed := elementsOf(encoded, codeList8), false
	for i := range changes {
		c := &changes[i]
		at := fieldOf(c.Name)
		if c.Scope != message.ScopeSystem || at < 0 {
			continue
		}
		for len(fields) <= at {
			fields = append(fields, encodedNull)
		}
		if fields[at] = c.Value; c.Value == "" {
			fields[at] = encodedNull
		}
		changed = true
	}
	if !changed {
		return encoded
	}
	for len(fields) > 0 && fields[len(fields)-1] == encodedNull {
		fields = fields[:len(fields)-1]
	}
	return compose(sectionProperties, codeList8, fields)
}

// pair is an encoded application property.
type pair struct {
	name       string
	key, value string // encoded
}

// changedPairs returns the application properties after changes, in the order of their first
// appearance. Attributes replace those that were sent, and changes replace both.
func (m *Message) changedPairs() []pair {
	var sent []string
	var changes []message.Change
	if m.Encoded != nil {
		sent, changes = elementsOf(find(m.Encoded.Sections, sectionApplication), codeMap8), m.Encoded.Changes
	}
	count := len(sent)/2 + len(m.Attributes) + len(changes)
	pairs, places := make([]pair, 0, count), make(map[string]int, count) // by name; never iterated
	set := func(name, key, value string) {
		at, known := places[name]
		if !known {
			at = len(pairs)
			places[name] = at
			pairs = append(pairs, pair{name: name, key: key})
		}
		pairs[at].value = value
	}
	for i := 0; i+1 < len(sent); i += 2 {
		name, _ := binaryOf(sent[i], codeString8)
		set(name, sent[i], sent[i+1])
	}
	for i := range m.Attributes {
		name := m.Attributes[i].Name
		set(name, encodedString(name), string(property.Append(nil, valueOf(&m.Attributes[i]))))
	}
	for i := range changes {
		if c := &changes[i]; c.Scope == message.ScopeApplication {
			set(c.Name, encodedString(c.Name), c.Value)
		}
	}
	return slices.DeleteFunc(pairs, func(p pair) bool { return p.value == "" })
}

func encodedString(text string) string { return string(appendBinary(nil, codeString8, text)) }

// changedApplication returns the application properties after changes, with their section.
func (m *Message) changedApplication() string {
	pairs := m.changedPairs()
	if len(pairs) == 0 {
		return ""
	}
	elements := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		elements = append(elements, p.key, p.value)
	}
	return compose(sectionApplication, codeMap8, elements)
}

// elementsOf returns the encoded elements of the list or map in a section, nil if it is malformed.
func elementsOf(encoded string, short byte) (elements []string) {
	s, _, _ := nextSection(encoded)
	rest, count, ok := compound(s.value, short)
	for range count {
		length := valueLength(rest)
		if length == 0 || !ok {
			return nil
		}
		elements = append(elements, rest[:length])
		rest = rest[length:]
	}
	return elements
}

// compose encodes a section with a list or a map.
func compose(kind, short byte, elements []string) string {
	size := 0
	for _, e := range elements {
		size += len(e)
	}
	b := append(make([]byte, 0, size+12), codeDescribed, codeSmallULong, kind)
	if size < 255 && len(elements) < 256 {
		b = append(b, short, byte(size+1), byte(len(elements)))
	} else {
		b = binary.BigEndian.AppendUint32(append(b, short+0x10), uint32(size+4))
		b = binary.BigEndian.AppendUint32(b, uint32(len(elements)))
	}
	for _, e := range elements {
		b = append(b, e...)
	}
	return string(b)
}

// appendBinary appends a binary, or a string, in its shortest encoding.
func appendBinary(b []byte, short byte, bytes string) []byte {
	if len(bytes) < 256 {
		return append(append(b, short, byte(len(bytes))), bytes...)
	}
	return append(binary.BigEndian.AppendUint32(append(b, short+0x10), uint32(len(bytes))), bytes...)
}
