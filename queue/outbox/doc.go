// Package outbox holds the deliveries over HTTP that have still to be posted, in the order of
// publishing and in the order in which they are due.
//
// Each subscription has its own trees, so forgetting a subscription takes the same time however
// many deliveries wait. A delivery refers to the publication that all deliveries of one publish
// share.
//
// Nothing here is safe for concurrent use, except that another goroutine may read a Frozen copy
// while the outbox changes.
package outbox
