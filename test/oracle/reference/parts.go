package reference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parts are the parts of a message that plain text lacks.
type Parts struct {
	Format   string // bytes or amqp, empty for text
	Sections string // of amqp, before the body
	Changes  []Change
}

// Change sets a property at a settlement, or removes it if Value is empty.
type Change struct {
	System      bool
	Name, Value string
}

const changesMax = 64 << 10

func (p Parts) size() int64 {
	n := len(p.Sections)
	for _, c := range p.Changes {
		n += len(c.Name) + len(c.Value)
	}
	return int64(n)
}

// with applies changes to those of the message. The last one of each property counts.
func (p Parts) with(changes []Change) (Parts, *Error) {
	for _, c := range changes {
		p.Changes = append(slices.DeleteFunc(slices.Clone(p.Changes), func(old Change) bool {
			return old.System == c.System && old.Name == c.Name
		}), c)
	}
	slices.SortFunc(p.Changes, func(a, b Change) int {
		switch {
		case a.System == b.System:
			return cmp.Compare(a.Name, b.Name)
		case a.System:
			return 1
		}
		return -1
	})
	if (Parts{Changes: p.Changes}).size() > changesMax {
		return p, &Error{Code: "InvalidParameterValue"}
	}
	return p, nil
}

// goodNative reports whether an id of the native API has 1 to 128 characters of UTF-8. U+0000 is no
// character of an id, but alone it is the empty group.
func goodNative(id string, group bool) bool {
	if group && id == "\x00" {
		return true
	}
	n := utf8.RuneCountInString(id)
	return utf8.ValidString(id) && !strings.ContainsRune(id, 0) && n >= 1 && n <= 128
}

// String shows all parts.
func (p Parts) String() string {
	text := fmt.Sprintf("%s %q", p.Format, p.Sections)
	for _, c := range p.Changes {
		text += fmt.Sprintf(" %v %q=%q", c.System, c.Name, c.Value)
	}
	return text
}
