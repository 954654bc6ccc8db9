package awswire

// Text is a string member that may be absent. For some members that differs from empty.
type Text struct {
	Value string
	Given bool
}

// TextOf returns a given Text.
func TextOf(s string) Text { return Text{Value: s, Given: true} }

// Int is an integer member that may be absent. It converts to queue.Int.
type Int struct {
	Value int64
	Given bool
}

// IntOf returns a given Int.
func IntOf(v int64) Int { return Int{Value: v, Given: true} }

// Pair is one entry of a map from string to string, in the order sent.
type Pair struct{ Key, Value string }

// Kind is the form of a member on the wire.
type Kind uint8

// Kinds of members.
const (
	KindString Kind = iota + 1
	KindInteger
	KindBoolean
	KindBlob
	KindStringList
	KindStringMap
	KindStructureList
	KindStructureMap
)

// MemberInfo describes one member of a Schema, for tests and documentation.
type MemberInfo struct {
	Name  string // JSON member
	Query string // name in Query parameters and XML elements
	Kind  Kind
	// Element describes the structures in a list or map of structures.
	Element []MemberInfo
}
