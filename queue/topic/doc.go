// Package topic is the state of topics. A [Topic] has subscriptions, a deduplication window, an
// archive and scheduled publications. The [Registry] holds all topics.
//
// A subscription names its queue, which need not exist. Nothing here is safe for concurrent use,
// except that another goroutine may read a Frozen copy.
//
// # Shared publications
//
// The messages of one publish share a [Publication], so that a hundred subscriptions store the text
// once. References are counted only for the estimated size of the state, in a [Ledger]; the garbage
// collector frees the text. Only the goroutine that applies commands reads the counter. The rest of
// a publication never changes and is safe for concurrent use.
package topic
