// Package message reads and checks the parts of a message: body, message attributes, trace header
// and ids. It counts the size of a message, and splits off the reserved attributes
// seriatim.ScheduledEnqueueTime and seriatim.PartitionKey.
package message

import "errors"

// Body is the text of a message, in memory or in a Store. Most rules do not depend on it, so that
// moving a stored message needs no read.
type Body struct {
	text string // if in memory
	// If in a Store:
	place  Place // zero if in memory
	size   uint32
	digest uint64
}

// Place is the location of a body in a Store of this node. It is not part of the replicated state.
// The zero Place is none.
type Place struct {
	Segment uint32 // from 1; not reused while a body refers to it
	Offset  uint32 // of the record in its segment
}

// NewBody returns a body in memory.
func NewBody(text string) Body { return Body{text: text} }

// StoredBody returns a body of size bytes at a place in a Store. digest is the keyed hash of its
// text.
func StoredBody(place Place, size uint32, digest uint64) Body {
	return Body{place: place, size: size, digest: digest}
}

// Stored reports whether the body is in a Store; use a Reader to read it.
func (b Body) Stored() bool { return b.place.Segment != 0 }

// Place returns the location in the Store, zero if in memory.
func (b Body) Place() Place { return b.place }

// Digest returns the keyed hash of a stored body's text.
func (b Body) Digest() uint64 { return b.digest }

// String returns the text of a body in memory. It panics for a stored body.
func (b Body) String() string {
	if b.Stored() {
		panic("a stored body was used before it was read")
	}
	return b.text
}

// Len returns the length in bytes.
func (b Body) Len() int {
	if b.Stored() {
		return int(b.size)
	}
	return len(b.text)
}

// MemoryLen returns the number of bytes in memory.
func (b Body) MemoryLen() int { return len(b.text) }

// Reader loads stored bodies into memory. It is safe for concurrent use.
type Reader interface {
	// Read returns a body in memory. It fails if the stored body is damaged, unreadable or freed.
	Read(b Body) (Body, error)
}

// Store keeps bodies outside of memory. One goroutine calls its methods, except Read.
type Store interface {
	Reader
	// Keeps reports whether bodies of a size belong in the store.
	Keeps(size int) bool
	// Append stores a body without references.
	Append(text string, digest uint64) Body
	// Hold adds a reference to a body, Free removes one. The store reclaims bodies without
	// references.
	Hold(b Body)
	Free(b Body)
	// Require is Read for a command that depends on the text. If it fails, this replica must stop.
	Require(b Body) (Body, error)
}

// Memory is a Store that leaves every body in memory.
type Memory struct{}

var _ Store = Memory{}

// ErrNoStore is returned if a state refers to stored bodies but has no Store.
var ErrNoStore = errors.New("the body is in a segment file, which is not open here")

// Keeps returns false.
func (Memory) Keeps(int) bool { return false }

// Append returns a body in memory.
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
