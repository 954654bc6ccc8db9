package jsontext

import "maps"

// Equal reports whether two values are equal: members in any order, strings after decoding, numbers
// as written. It recurses to their nesting depth.
func Equal(a, b Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case KindObject:
		return maps.EqualFunc(byName(a), byName(b), Equal)
	case KindArray:
		var others []Value
		for e := range b.Elements() {
			others = append(others, e)
		}
		for e := range a.Elements() {
			if len(others) == 0 || !Equal(e, others[0]) {
				return false
			}
			others = others[1:]
		}
		return len(others) == 0
	case KindString:
		return a.Text() == b.Text()
	default:
		return a.Raw() == b.Raw()
	}
}

// byName returns the members of an object. The last of repeated names counts.
func byName(object Value) map[string]Value {
	members := map[string]Value{}
	for name, value := range object.Members() {
		members[name.Text()] = value
	}
	return members
}
