// Package deduplication remembers accepted deduplication ids of queues and topics, under every
// scope and profile.
//
// A window holds the ids in order of acceptance. An index finds an id in one cache line. An id
// takes about 45 bytes, whatever its length, and no pointer. A copy of a window takes constant
// time.
package deduplication
