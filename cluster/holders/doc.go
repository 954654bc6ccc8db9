// Package holders remembers which client received what, so that an operator learns who
// holds a message group.
//
// # What it owns
//
// A [Table] of the last receive and the last session lock of each message group that this
// node served, in memory of a fixed size.
//
// # What it refuses to know
//
// Whether a receiver still has what it received. The replicated state says that, and gives
// the [Hold] to look up. Nothing here is replicated or written to a disk.
//
// # Who calls it
//
// Package cluster records each receive that it answers, and looks up holds for itself and
// for other nodes. Package transport puts a [Caller] into the context of each request.
//
// # Design
//
// The table is set-associative: a group has four places, and a new group takes the one with
// the oldest receive. A receive replaces the earlier one of its group, so that a group that
// is blocked for hours is remembered while others are busy. Nothing is ever deleted. What
// was found is checked against the state: the number and the time of the receive, or the
// seal of the lock.
package holders
