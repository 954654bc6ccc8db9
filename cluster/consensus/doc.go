// Package consensus is what stands between hashicorp/raft and the other nodes: its
// transport.
//
// # What it owns
//
// The messages of the consensus library on the connections of package peernet, with
// the changes that its known faults need: no fast path for heartbeats, retries of a
// message to a node that cannot be reached, nothing from a leader that was deposed,
// no commit behind the entries of a message, an end of the log behind an installed
// snapshot, messages in parts of bounded size, an answer relay that never blocks a
// sender, and the commit notifier. Also, when each
// node last answered.
//
// # What it refuses to know
//
// Entries, the state machine, and who may be a member. The group itself, which
// starts the library and owns its stores, is still in package cluster.
//
// # Who calls it
//
// The consensus group of package cluster.
//
// # Design
//
// The library tells followers what is committed with the next entries, or with
// empty messages at a fixed rate for ever. An idle leader was busy with fifty of
// them in a second. Here the library's own rate is low (KeepAlive), and the commit
// notifier sends one message after a commit that no entries followed, or at once
// when a read waits for it.
package consensus
