package policy

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// BytesMax bounds each policy text: the quota of AWS for a queue policy.
const BytesMax = 8192

// object is a JSON object whose members keep their order and, apart from
// blanks between tokens, their spelling.
type object []member

type member struct{ name, raw string }

// parseObject reads a JSON object. It refuses a name that occurs twice, since
// readers do not agree on which of the two counts, text that is not UTF-8, and
// text over the bound of a policy.
func parseObject(text string) (object, bool) {
	if len(text) > BytesMax || !utf8.ValidString(text) {
		return nil, false
	}
	s := scanner{text: text}
	o := object{}
	ok := s.members(func(name, raw string) bool {
		if o.index(name) >= 0 {
			return false
		}
		o = append(o, member{name, raw})
		return true
	})
	return o, ok && s.ended()
}

// parseList splits a JSON array into its compact elements.
func parseList(raw string) (elements []string, ok bool) {
	s := scanner{text: raw}
	ok = s.elements(func(raw string) { elements = append(elements, raw) })
	return elements, ok && s.ended()
}

func (o object) index(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// get is the text of a member; null counts as absent.
func (o object) get(name string) (raw string, ok bool) {
	i := o.index(name)
	if i < 0 || o[i].raw == "null" {
		return "", false
	}
	return o[i].raw, true
}

// set replaces a member in its place or adds it at the end.
func (o *object) set(name, raw string) {
	if i := o.index(name); i >= 0 {
		(*o)[i].raw = raw
		return
	}
	*o = append(*o, member{name, raw})
}

// String is the compact JSON text.
func (o object) String() string {
	var text strings.Builder
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(quote(m.name))
		text.WriteByte(':')
		text.WriteString(m.raw)
	}
	text.WriteByte('}')
	return text.String()
}

// quote writes a JSON string, leaving <, > and & as they are.
func quote(s string) string {
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
