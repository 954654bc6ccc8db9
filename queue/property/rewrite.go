package property

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/seriatimq/seriatim/queue/lettercase"
)

// Change is a change to a property: System, or else the application property Name. Without a value
// the property is removed. Name finds an existing property as [Set.Application] does.
type Change struct {
	System System
	Name   string
	Value  Value
}

// errTooLarge is returned if changes make a section too large.
var errTooLarge = errors.New("a section would have more than 64 KiB")

// Rewrite returns the sections of a message after changes. Everything that does not change keeps its
// encoding. Changes to system properties that are not in the sections have no effect.
func Rewrite(properties, application string, changes []Change) (newProperties, newApplication string, err error) {
	if newProperties, err = rewriteProperties(properties, changes); err != nil {
		return "", "", err
	}
	if newApplication, err = rewriteApplication(application, changes); err != nil {
		return "", "", err
	}
	if max(len(newProperties), len(newApplication)) > SectionBytesMax {
		return "", "", errTooLarge
	}
	return newProperties, newApplication, nil
}

// fieldOf returns the field of a system property, -1 if it is not in the section.
func fieldOf(s System) int {
	for i := range fields {
		if s != SystemNone && fields[i].system == s {
			return i
		}
	}
	return -1
}

func rewriteProperties(text string, changes []Change) (string, error) {
	if !slices.ContainsFunc(changes, func(c Change) bool { return fieldOf(c.System) >= 0 }) {
		return text, nil
	}
	var encoded [fieldCount]string
	if text != "" {
		if err := new(Set).readProperties(text); err != nil {
			return "", err
		}
		d := decoder{text: text}
		for i := range d.section(propertiesCode, propertiesSymbol, codeList8) {
			from := d.at
			if d.value() != Null {
				encoded[i] = text[from:d.at]
			}
		}
	}
	for _, c := range changes {
		if i := fieldOf(c.System); i >= 0 && c.Value.Kind() <= KindNull {
			encoded[i] = ""
		} else if i >= 0 {
			v, ok := Convert(c.Value, fields[i].types[0])
			if !ok { // a content type with letters outside of ASCII is no symbol
				v = String(c.Value.Text())
			}
			encoded[i] = string(Append(nil, v))
		}
	}
	count := fieldCount
	for count > 0 && encoded[count-1] == "" {
		count--
	}
	var elements []byte
	for _, field := range encoded[:count] {
		if field == "" {
			field = "\x40" // null
		}
		elements = append(elements, field...)
	}
	return encodeSection(propertiesCode, codeList32, count, elements), nil
}

// encodeSection returns a section with a list or map of encoded elements.
func encodeSection(descriptor, code byte, count int, elements []byte) string {
	b := []byte{codeDescribed, codeSmallULong, descriptor, code}
	b = binary.BigEndian.AppendUint32(b, uint32(len(elements)+4))
	b = binary.BigEndian.AppendUint32(b, uint32(count))
	return string(append(b, elements...))
}

// encodedProperty is an application property with its encoded name and value.
type encodedProperty struct{ name, encoded string }

func rewriteApplication(text string, changes []Change) (string, error) {
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.System == SystemNone }) {
		return text, nil
	}
	var properties []encodedProperty
	if text != "" {
		if err := new(Set).readApplication(text); err != nil {
			return "", err
		}
		d := decoder{text: text}
		for range d.section(applicationCode, applicationSymbol, codeMap8) / 2 {
			from := d.at
			name := d.value().text
			d.value()
			properties = append(properties, encodedProperty{name, text[from:d.at]})
		}
	}
	for _, c := range changes {
		if c.System == SystemNone {
			properties = changeProperty(properties, c)
		}
	}
	var elements []byte
	for _, p := range properties {
		elements = append(elements, p.encoded...)
	}
	return encodeSection(applicationCode, codeMap32, 2*len(properties), elements), nil
}

// changeProperty replaces, adds or removes a property. An existing one keeps its name.
func changeProperty(properties []encodedProperty, c Change) []encodedProperty {
	at := -1
	for i, p := range properties {
		if p.name == c.Name {
			at = i
			break
		}
		if lettercase.Equal(p.name, c.Name) && (at < 0 || p.name < properties[at].name) {
			at = i
		}
	}
	if c.Value.Kind() == KindNone {
		if at >= 0 {
			properties = slices.Delete(properties, at, at+1)
		}
		return properties
	}
	if at < 0 {
		at = len(properties)
		properties = append(properties, encodedProperty{name: c.Name})
	}
	name := properties[at].name
	properties[at].encoded = string(Append(appendVariable(nil, codeString8, name), c.Value))
	return properties
}
