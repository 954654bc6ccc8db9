package wire

import "iter"

// items returns the number of items of a list or a map, and their bytes.
func (v Value) items() (n int, rest []byte) {
	if len(v) == 0 || v[0] == codeList0 {
		return 0, nil
	}
	n, rest, err := count(v[0], v[1:])
	if err != nil { // impossible: Scan has checked it
		return 0, nil
	}
	return n, rest
}

// List returns the items of a list. There are none if the value has another type.
func (v Value) List() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != List {
			return
		}
		n, rest := v.items()
		for range n {
			size := length(rest)
			if !yield(Value(rest[:size:size])) {
				return
			}
			rest = rest[size:]
		}
	}
}

// Map returns the keys and values of a map in their order. There are none if the value has another
// type.
func (v Value) Map() iter.Seq2[Value, Value] {
	return func(yield func(key, value Value) bool) {
		if v.Kind() != Map {
			return
		}
		n, rest := v.items()
		for range n / 2 {
			key := length(rest)
			both := key + length(rest[key:])
			if !yield(Value(rest[:key:key]), Value(rest[key:both:both])) {
				return
			}
			rest = rest[both:]
		}
	}
}

// Len returns the number of items of a list or an array, or of entries of a map.
func (v Value) Len() int {
	switch v.Kind() {
	case List, Array:
		n, _ := v.items()
		return n
	case Map:
		n, _ := v.items()
		return n / 2
	}
	return 0
}

// Lookup returns the value of a key, which is a symbol or a string, in a map. The value is absent if
// there is no such key.
func (v Value) Lookup(name string) Value {
	for key, value := range v.Map() {
		if key.Is(name) {
			return value
		}
	}
	return nil
}

// Array returns the items of an array, each as a value of its own. There are none if the value has
// another type.
func (v Value) Array() []Value {
	if v.Kind() != Array {
		return nil
	}
	n, rest := v.items()
	constructor, err := scanConstructor(rest, depthMax)
	if err != nil { // impossible: Scan has checked it
		return nil
	}
	begin, rest := rest[:constructor], rest[constructor:]
	all := make([]byte, 0, n*constructor+len(rest))
	items := make([]Value, 0, n)
	for range n {
		size, _ := dataLength(begin[constructor-1], rest)
		start := len(all)
		all = append(append(all, begin...), rest[:size]...)
		items = append(items, Value(all[start:len(all):len(all)]))
		rest = rest[size:]
	}
	return items
}

// Multiple returns the values of a field that may have several: an array, one value, or none.
func (v Value) Multiple() []Value {
	switch v.Kind() {
	case Null:
		return nil
	case Array:
		return v.Array()
	}
	return []Value{v}
}
