// Package upgrade keeps the data directory of every released version and opens
// it with the present program, and upgrades a cluster of three processes to a
// program of the next format.
//
// # What it owns
//
// testdata/vN: the data directory of a stopped node of format version N with
// queues, messages in every state, remembered deduplication ids, a snapshot and
// a tail of the log, and what a node must find in it.
//
// The next version is the present program that was told by the linker to claim one
// format more: what changes with a format is up to that format, but the gate, the
// refusals and the way back before it are the same for all.
//
// # What it refuses to know
//
// Encodings: it looks at a node from outside, as clients do.
//
// # Who calls it
//
// make test. With -update the directory of the present version is made anew,
// which is right only before that version is released.
package upgrade
