package rendition

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/property"
)

// Names and values of the attributes that tell SQS clients about a rendition.
const (
	// BodyEncoding tells how the body is encoded. It is absent for text.
	BodyEncoding = "seriatim.BodyEncoding"
	// EncodingBase64 is the payload, EncodingAMQP the encoded body sections of a message without a
	// payload, both in base64.
	EncodingBase64 = "base64"
	EncodingAMQP   = "amqp-base64"
	// PropertiesOmitted is the number of properties that SQS cannot carry.
	PropertiesOmitted = "seriatim.PropertiesOmitted"
)

// Text returns body and message attributes for clients of SQS and SNS. It leaves out attributes whose
// name, type or value SQS does not permit. Their number has no limit.
func (m *Message) Text() (body string, attributes []message.MessageAttribute) {
	attributes = m.All()
	payload, ok := m.Payload()
	body = payload
	encoding := ""
	switch {
	case !ok:
		encoding = EncodingAMQP
	case !m.Encoded.IsText() && message.BadCharacter(payload):
		encoding = EncodingBase64
	}
	permitted := attributes
	if !allPermitted(attributes) {
		permitted = slices.DeleteFunc(slices.Clone(attributes), func(a message.MessageAttribute) bool { return !a.Permitted() })
	}
	omitted := len(attributes) - len(permitted)
	if encoding == "" && omitted == 0 {
		return body, attributes
	}
	permitted = slices.Clip(permitted)
	if encoding != "" {
		body = base64.StdEncoding.EncodeToString([]byte(payload))
		permitted = append(permitted, message.MessageAttribute{Name: BodyEncoding, DataType: "String", Value: encoding})
	}
	if omitted > 0 {
		permitted = append(permitted, message.MessageAttribute{Name: PropertiesOmitted, DataType: "Number", Value: strconv.Itoa(omitted)})
	}
	return body, sorted(permitted)
}

func allPermitted(attributes []message.MessageAttribute) bool {
	for i := range attributes {
		if !attributes[i].Permitted() {
			return false
		}
	}
	return true
}

func sorted(attributes []message.MessageAttribute) []message.MessageAttribute {
	slices.SortStableFunc(attributes, func(a, b message.MessageAttribute) int { return strings.Compare(a.Name, b.Name) })
	return attributes
}

// All returns the message attributes and application properties, as changed. Those of a message
// without properties are as stored.
func (m *Message) All() []message.MessageAttribute {
	if m.Encoded == nil || m.Encoded.Sections == "" && !changesApplication(m.Encoded.Changes) {
		return m.Attributes
	}
	kept := make(map[string]*message.MessageAttribute, len(m.Attributes)) // never iterated
	for i := range m.Attributes {
		kept[m.Attributes[i].Name] = &m.Attributes[i]
	}
	pairs := m.changedPairs()
	if len(pairs) == 0 {
		return nil
	}
	out := make([]message.MessageAttribute, 0, len(pairs))
	var set property.Set
	for _, p := range pairs {
		a := message.MessageAttribute{Name: p.name, DataType: "Binary." + property.TypeOther.String(), Value: p.value}
		if set.Read("", compose(sectionApplication, codeMap8, []string{p.key, p.value})) == nil {
			v := set.All()[0].Value
			if a = attributeOf(p.name, v); kept[p.name] != nil && valueOf(kept[p.name]) == v {
				a = *kept[p.name] // its type may have another suffix
			}
		}
		out = append(out, a)
	}
	return sorted(out)
}

func changesApplication(changes []message.Change) bool {
	return slices.ContainsFunc(changes, func(c message.Change) bool { return c.Scope == message.ScopeApplication })
}

// attributeOf returns the message attribute of a property. The suffix of its data type is the AMQP
// type, except for strings and binary values.
func attributeOf(name string, v property.Value) message.MessageAttribute {
	a := message.MessageAttribute{Name: name, DataType: "String", Value: v.Text()}
	switch t := v.Type(); v.Kind() {
	case property.KindBinary:
		if a.DataType, a.Value = "Binary", v.Str(); t != property.TypeBinary {
			a.DataType = "Binary." + t.String()
		}
	case property.KindLong, property.KindDouble, property.KindDecimal:
		if message.IsNumber(a.Value) {
			a.DataType = "Number." + t.String()
		} else {
			a.DataType = "String." + t.String() // infinities and large exponents
		}
	default:
		if t != property.TypeString {
			a.DataType = "String." + t.String()
		}
	}
	return a
}

// types are the AMQP types by name.
var types = func() map[string]property.Type {
	byName := map[string]property.Type{}
	for t := property.TypeBoolean; t < property.TypeOther; t++ {
		byName[t.String()] = t
	}
	return byName
}()

// valueOf returns the property of a message attribute: of the type in its suffix, or else a string, a
// binary value, a long, or a double if it is no integer.
func valueOf(a *message.MessageAttribute) property.Value {
	_, suffix, _ := strings.Cut(a.DataType, ".")
	text := property.String(a.Value)
	wanted, typed := types[suffix]
	if a.IsBinary() {
		return property.Binary(a.Value)
	}
	if typed && wanted != property.TypeBinary {
		if v, ok := property.Convert(text, wanted); ok {
			return v
		}
	}
	if suffix == property.TypeNull.String() && a.Value == "" {
		return property.Null
	}
	if a.BaseType() == "Number" {
		for _, t := range [...]property.Type{property.TypeLong, property.TypeDouble} {
			if v, ok := property.Convert(text, t); ok {
				return v
			}
		}
	}
	return text
}

// ID returns an id as SQS and SNS can carry it: each other character is U+FFFD. The empty group is
// empty.
func ID(id string) string {
	if message.ValidID(id) || !message.BadCharacter(id) {
		return id
	}
	if id == message.EmptyGroup {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if message.BadCharacter(string(r)) {
			return '\uFFFD'
		}
		return r
	}, id)
}
