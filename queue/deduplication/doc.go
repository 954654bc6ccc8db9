// Package deduplication remembers which ids were accepted when: the one engine
// behind every scope and profile.
//
// # What it owns
//
// A window of accepted ids in the order in which they were accepted, an index
// that finds one of them in a cache line, and the rule by which one is still
// alive. An id costs some 50 bytes, whatever its length, and no pointer for the
// garbage collector to follow. A copy of a window costs the same at any size.
//
// # What it refuses to know
//
// Queues and topics, what an id is unique within, and how ids are hashed: it
// gets keys of 128 bits. Times are milliseconds that the caller supplies.
//
// # Who calls it
//
// Package queue, for each of its queues.
package deduplication
