package jsontext

import (
	"iter"
	"math"
	"strconv"
	"unicode/utf8"
)

// Kind is what a value is.
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

// Value is a value in a text that was read, with all that is in it. It is a
// place in that text: nothing is copied or converted until it is asked for.
type Value struct {
	of *tree
	at int
}

// tree is a text and, in the order of the text, a node for each value and each
// name of a member.
type tree struct {
	text  string
	nodes []node
}

// node says where in the text a value stands, and which node follows after
// those in it.
type node struct {
	start, end, next uint32
	kind             Kind
}

// nodeBytesTypical is about how many bytes of text there are for each node.
const nodeBytesTypical = 8

// SyntaxError says where a text stops being JSON that can be read.
type SyntaxError struct{ Offset int }

func (e *SyntaxError) Error() string { return "not JSON from byte " + strconv.Itoa(e.Offset) + " on" }

// Parse reads a JSON text; the error is a [SyntaxError]. It refuses text that is
// not UTF-8, and arrays and objects that nest deeper than depthMax, since who
// reads them recurses. A name that occurs twice in an object is there twice.
func Parse(text string, depthMax int) (Value, error) {
	if uint64(len(text)) > math.MaxUint32 {
		return Value{}, &SyntaxError{}
	}
	if !utf8.ValidString(text) {
		return Value{}, &SyntaxError{Offset: invalidAt(text)}
	}
	s := scanner{text: text, deep: depthMax, nodes: make([]node, 0, len(text)/nodeBytesTypical+1)}
	if !s.value() || !s.ended() {
		return Value{}, &SyntaxError{Offset: s.at}
	}
	return Value{of: &tree{text: text, nodes: s.nodes}}, nil
}

// invalidAt is where a text stops being UTF-8.
func invalidAt(text string) int {
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}

func (v Value) node() *node { return &v.of.nodes[v.at] }

// Kind is what the value is.
func (v Value) Kind() Kind { return v.node().kind }

// Start is where in the text the value begins.
func (v Value) Start() int { return int(v.node().start) }

// End is where in the text the value ends.
func (v Value) End() int { return int(v.node().end) }

// Raw is the value as it is written.
func (v Value) Raw() string { return v.of.text[v.Start():v.End()] }

// Text is what a string says, "" for any other value. Half of a surrogate pair
// becomes U+FFFD.
func (v Value) Text() string {
	if v.Kind() != KindString {
		return ""
	}
	return unquote(v.Raw())
}

// Members are the names, which are strings, and the values in an object.
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

// Elements are the values in an array.
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
