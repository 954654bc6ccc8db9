// Package holders records the last client that received messages of a group, locked a session, or
// received a message of a standard queue, for operators. A [Table] covers the requests that this
// node served. It is bounded, in memory only, and not replicated.
//
// The table is set-associative: a group has four slots, and a new group replaces the slot with the
// oldest receive. A receive replaces the earlier one of its group, so a group that is blocked for
// hours stays. Nothing is deleted: Find compares a record with the state.
package holders
