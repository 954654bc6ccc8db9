// Package topic is the state of topics: what each of them is, who is subscribed to it,
// which ids it remembers, what it keeps in its archive, and what was published and is
// still held by a queue or an archive.
//
// # What it owns
//
// A [Topic] with its subscriptions, its deduplication and its archive; the [Registry] of all topics
// with the indexes over them, the sum of their record hashes, their size and when the
// next of them has something to forget; a [Publication], which all messages share that
// one publish made, and the [Ledger] that counts the bytes of publications.
//
// # What it refuses to know
//
// Commands and their refusals, queues and their messages, and the present time. A
// subscription has the name of its queue, which need not exist.
//
// # Who calls it
//
// Package queue: its commands begin a topic, change it, and finish the registry, as they
// do with queues. Nothing here is safe for concurrent use, except that a Frozen copy may
// be read by another goroutine while the registry goes on being changed.
//
// # Shared publications
//
// A message in a queue refers to its publication, so that a hundred subscriptions cost
// the text once. The number of references is counted for one purpose only, the estimated
// size of the state: the garbage collector frees the text. It is no part of the state,
// and only the goroutine that applies commands looks at it; everything else in a
// publication never changes and may be read by whoever writes a snapshot.
package topic
