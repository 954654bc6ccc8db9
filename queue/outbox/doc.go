// Package outbox is the state of deliveries over HTTP: what has still to be posted to
// the subscribers of topics whose endpoint is a URL, and when.
//
// # What it owns
//
// An [Outbox] with the deliveries of each subscription, in the order in which they were
// published and in that in which they are due, the sum of their record hashes and their
// size.
//
// # What it refuses to know
//
// Subscriptions, policies of retries, HTTP, and the present time. A subscription is a
// number.
//
// # Who calls it
//
// Package queue: a publish puts deliveries in, what comes of them takes them out or puts
// them back for later. Nothing here is safe for concurrent use, except that a Frozen copy
// may be read by another goroutine while the outbox goes on being changed.
//
// # Design
//
// Each subscription has trees of its own, so that to forget a subscription takes the same
// time whatever waits for it. A delivery refers to the publication that it shares with
// all others of it.
package outbox
