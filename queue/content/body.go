package content

import "errors"

// Body is the text of a message, in memory or in a Store. Rules never look inside, so
// that a body that is stored need not be read to move the message that has it.
type Body struct {
	text string // of a body in memory
	// Of one in a Store:
	place  Place // zero if it is in memory
	size   uint32
	digest uint64
}

// Place is where a Store has a body. Places belong to one node: they are no part of the
// replicated state. The zero Place is none.
type Place struct {
	Segment uint32 // counted from one; not used again as long as anything refers to it
	Offset  uint32 // of the record in its segment
}

// NewBody wraps text.
func NewBody(text string) Body { return Body{text: text} }

// StoredBody is a body of size bytes that a Store has at a place. digest is the keyed hash
// of its text, so that its message is hashed without reading it.
func StoredBody(place Place, size uint32, digest uint64) Body {
	return Body{place: place, size: size, digest: digest}
}

// Stored reports whether the body is in a Store, and has to be read with a Reader.
func (b Body) Stored() bool { return b.place.Segment != 0 }

// Place is where the Store has the body, zero if it is in memory.
func (b Body) Place() Place { return b.place }

// Digest is the keyed hash of the text of a stored body.
func (b Body) Digest() uint64 { return b.digest }

// String is the text of a body in memory. To ask a stored one is a mistake in the
// program, which must not pass for an empty body.
func (b Body) String() string {
	if b.Stored() {
		panic("a stored body was used before it was read")
	}
	return b.text
}

// Len is the length in bytes.
func (b Body) Len() int {
	if b.Stored() {
		return int(b.size)
	}
	return len(b.text)
}

// MemoryLen is how many of the bytes are in memory.
func (b Body) MemoryLen() int { return len(b.text) }

// A Reader returns stored bodies in memory, and those that are there as they are. Safe
// for concurrent use.
type Reader interface {
	// Read fails if the body is damaged, cannot be read, or has been freed long ago.
	Read(b Body) (Body, error)
}

// Store keeps bodies outside of memory. All of it but Read is called by one goroutine.
type Store interface {
	Reader
	// Keeps reports whether Append stores a text of so many bytes.
	Keeps(size int) bool
	// Append stores a text that it keeps, and returns its body, which nobody holds yet.
	Append(text string, digest uint64) Body
	// Hold counts a message that has the body, Free one that has it no more. What
	// nobody holds is forgotten some time.
	Hold(b Body)
	Free(b Body)
	// Require is Read for a command that goes by the text. The state cannot change
	// before it returns; if it fails, this replica cannot go on.
	Require(b Body) (Body, error)
}

// Memory is the Store that leaves everything in memory.
type Memory struct{}

var _ Store = Memory{}

// ErrNoStore says that a state refers to stored bodies, and what has it was given no Store.
var ErrNoStore = errors.New("the body is in a segment file, which is not open here")

// Keeps is false for every text.
func (Memory) Keeps(int) bool { return false }

// Append returns a body that is in memory.
func (Memory) Append(text string, _ uint64) Body { return NewBody(text) }

// Read returns b, which must be in memory.
func (Memory) Read(b Body) (Body, error) {
	if b.Stored() {
		return Body{}, ErrNoStore
	}
	return b, nil
}

// Require is Read.
func (m Memory) Require(b Body) (Body, error) { return m.Read(b) }

// Hold does nothing.
func (Memory) Hold(Body) {}

// Free does nothing.
func (Memory) Free(Body) {}
