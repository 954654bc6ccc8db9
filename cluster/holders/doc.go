// Package holders remembers which client received a message, so that an operator learns which
// client holds a message group. A [Table] has the last receive and the last session lock of each
// message group that this node served. It is bounded, in memory only, and not replicated.
//
// The table is set-associative: a group has four slots, and a new group takes the slot with the
// oldest receive. A receive replaces the earlier one of its group, so a group that is blocked
// for hours stays while others are busy. Nothing is deleted: the caller compares a [Hold] with
// the state before it shows it.
//
// # Design
//
// The table is set-associative: a group has four places, and a new group takes the one with
// the oldest receive. A receive replaces the earlier one of its group, so that a group that
// is blocked for hours is remembered while others are busy. Nothing is ever deleted. What
// was found is checked against the state: the number and the time of the receive, or the
// seal of the lock.
package holders
