// Package deduplication remembers accepted deduplication ids. One engine serves every scope and
// profile, of queues and topics.
//
// A window holds the ids in the order in which they were accepted. An index finds an id in one
// cache line. An id costs some 50 bytes, whatever its length, and no pointer for the garbage
// collector to follow. A copy of a window costs the same at any size.
//
// The caller supplies the time, and decides what follows from a duplicate.
package deduplication
