// Package topic is the state of topics. A [Topic] has subscriptions, a deduplication window and
// an archive; the [Registry] holds all topics. A [Publication] is shared by all messages of one
// publish, and the [Ledger] counts the bytes of publications.
//
// A subscription has the name of its queue, which need not exist. Nothing here is safe for
// concurrent use, except that another goroutine may read a Frozen copy while the registry
// changes.
//
// # Shared publications
//
// A message in a queue refers to its publication, so that a hundred subscriptions cost
// the text once. The number of references is counted for one purpose only, the estimated
// size of the state: the garbage collector frees the text. It is no part of the state,
// and only the goroutine that applies commands looks at it; everything else in a
// publication never changes and may be read by whoever writes a snapshot.
package topic
