package jsontext

import (
	"iter"
	"math"
	"strconv"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	KindObject Kind = iota + 1
	KindArray
	KindString
	KindNumber
	KindTrue
	KindFalse
	KindNull
)

// Value is a value in a parsed text. Methods convert it on demand.
type Value struct {
	of *tree
	at int
}

// tree is a text with a node for each value and member name, in order.
type tree struct {
	text  string
	nodes []node
}

// node is the position of a value. next is the index of the first node after it.
type node struct {
	start, end, next uint32
	kind             Kind
}

// nodeBytesTypical is the typical number of bytes of text for each node.
const nodeBytesTypical = 8

// SyntaxError reports the position of invalid JSON.
type SyntaxError struct {
	Offset int
	What   string // description of the error
}

func (e *SyntaxError) Error() string { return "not JSON from byte " + strconv.Itoa(e.Offset) + " on" }

// Parse reads a JSON text. Errors are of type [SyntaxError]. It refuses invalid UTF-8, and nesting
// beyond depthMax, because readers recurse. It keeps repeated member names.
func Parse(text string, depthMax int) (Value, error) {
	if uint64(len(text)) > math.MaxUint32 {
		return Value{}, &SyntaxError{What: "the text is too long"}
	}
	if !utf8.ValidString(text) {
		return Value{}, &SyntaxError{Offset: invalidAt(text), What: "malformed UTF-8"}
	}
	b := builder{Scanner: NewScanner(text, depthMax), nodes: make([]node, 0, len(text)/nodeBytesTypical+1)}
	b.halves = true
	if err := b.value(); err != nil {
		return Value{}, err
	}
	if err := b.End(); err != nil {
		return Value{}, err
	}
	return Value{of: &tree{text: text, nodes: b.nodes}}, nil
}

// invalidAt returns the offset of the first invalid UTF-8.
func invalidAt(text string) int {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}

func (v Value) node() *node { return &v.of.nodes[v.at] }

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.node().kind }

// Start returns the offset of the value in the text.
func (v Value) Start() int { return int(v.node().start) }

// End returns the offset after the value.
func (v Value) End() int { return int(v.node().end) }

// Raw returns the value as written.
func (v Value) Raw() string { return v.of.text[v.Start():v.End()] }

// Text returns the content of a string, "" for any other value. Half of a surrogate pair becomes
// U+FFFD.
func (v Value) Text() string {
	if v.Kind() != KindString {
		return ""
	}
	return unquote(v.Raw())
}

// Members iterates over the members of an object.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(name, value Value) bool) {
		if v.Kind() != KindObject {
			return
		}
		for at, end := v.at+1, int(v.node().next); at < end; {
			member := Value{v.of, at + 1}
			if !yield(Value{v.of, at}, member) {
				return
			}
			at = int(member.node().next)
		}
	}
}

// Elements iterates over the values of an array.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != KindArray {
			return
		}
		for at, end := v.at+1, int(v.node().next); at < end; {
			element := Value{v.of, at}
			if !yield(element) {
				return
			}
			at = int(element.node().next)
		}
	}
}
