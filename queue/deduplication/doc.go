// Package deduplication remembers which ids were accepted when: the one engine
// behind every scope and profile.
//
// # What it owns
//
// The rules, the ids a message is compared under and their keys, a window of
// accepted ids in the order in which they were accepted, an index that finds one of
// them in a cache line, whether one is still alive, and the sum of the record hashes.
// An id costs some 50 bytes, whatever its length, and no pointer for the garbage
// collector to follow. A copy of a window costs the same at any size.
//
// # What it refuses to know
//
// Queues and topics: an entity is an incarnation and its rules. What follows from a
// duplicate, or from a limit of remembered ids, is for the caller to say, who also
// supplies the time.
//
// # Who calls it
//
// Package queue, for each of its queues, and package topic, for each topic.
package deduplication
