package jsontext

import (
	"slices"
	"strings"
)

// Object is a JSON object. Its members keep their order and spelling, without white space between
// tokens.
type Object []Member

// Member is a member of an Object: name and compact value.
type Member struct{ Name, Raw string }

// depthMax bounds the nesting of values in an Object.
const depthMax = 10_000

// ParseObject reads a JSON object. It refuses repeated names, because readers disagree on them, and
// invalid UTF-8.
func ParseObject(text string) (Object, bool) {
	read, err := Parse(text, depthMax)
	if err != nil || read.Kind() != KindObject {
		return nil, false
	}
	o := Object{}
	for name, value := range read.Members() {
		if o.index(name.Text()) >= 0 {
			return nil, false
		}
		o = append(o, Member{name.Text(), compact(value.Raw())})
	}
	return o, true
}

// ParseList splits a JSON array into its compact elements.
func ParseList(raw string) (elements []string, ok bool) {
	read, err := Parse(raw, depthMax)
	if err != nil || read.Kind() != KindArray {
		return nil, false
	}
	for e := range read.Elements() {
		elements = append(elements, compact(e.Raw()))
	}
	return elements, true
}

// StringOf decodes a JSON string. ok is false for any other value.
func StringOf(raw string) (string, bool) {
	if raw == "" || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// compact removes the white space between tokens.
func compact(raw string) string {
	out := make([]byte, 0, len(raw))
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			out = append(out, c)
			i++ // the escaped character, perhaps a quotation mark
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		out = append(out, raw[i])
	}
	return string(out)
}

func (o Object) index(name string) int {
	return slices.IndexFunc(o, func(m Member) bool { return m.Name == name })
}

// Get returns the value of a member. Null counts as absent.
func (o Object) Get(name string) (raw string, ok bool) {
	i := o.index(name)
	if i < 0 || o[i].Raw == "null" {
		return "", false
	}
	return o[i].Raw, true
}

// Set replaces a member in place or appends it.
func (o *Object) Set(name, raw string) {
	if i := o.index(name); i >= 0 {
		(*o)[i].Raw = raw
		return
	}
	*o = append(*o, Member{name, raw})
}

// String returns the compact JSON text.
func (o Object) String() string {
	var text strings.Builder
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(Quote(m.Name))
		text.WriteByte(':')
		text.WriteString(m.Raw)
	}
	text.WriteByte('}')
	return text.String()
}

// Quote writes a JSON string. It keeps <, > and & as they are.
func Quote(s string) string {
	const digits = "0123456789abcdef"
	var text strings.Builder
	text.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			text.WriteByte('\\')
			text.WriteByte(byte(c))
		case c >= ' ' && c != '\u2028' && c != '\u2029':
			text.WriteRune(c)
		case strings.ContainsRune("\b\f\n\r\t", c):
			text.WriteByte('\\')
			text.WriteByte("bfnrt"[strings.IndexRune("\b\f\n\r\t", c)])
		default:
			text.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				text.WriteByte(digits[c>>shift&15])
			}
		}
	}
	text.WriteByte('"')
	return text.String()
}
