// Package outbox holds pending HTTP deliveries, in order of publishing and of the next attempt.
//
// Each subscription has trees of its own, so dropping one takes constant time. The deliveries of
// one publish share its publication.
//
// Nothing here is safe for concurrent use, except that another goroutine may read a Frozen copy.
package outbox
