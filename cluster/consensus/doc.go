// Package consensus runs one replicated log: a Group is hashicorp/raft with the
// stores, the transport and the state machine around it.
//
// # What it owns
//
// Starting and stopping the consensus library, and everything that its known faults
// make necessary. Where to look:
//
//	open.go               opening a group: stores, replay, library
//	proposal.go           where an entry is written, and what its errors mean
//	machine.go, replay.go where entries are applied, live and at the start
//	snapshots.go          when snapshots are taken; machine.go says how fast
//	restore.go            a backup becomes the state of all members
//	members.go            voters and learners, and changes of them
//	leadership.go         who leads; leadership_proof.go proves it for a read
//	campaign.go           an election before the timeout of the library
//	transport.go          messages to other nodes; links.go, pipeline.go, parts.go
//	serving.go            messages from them; inbound.go mends what they may break
//	commit_notifier.go    followers learn what is committed
//	stored.go             log and snapshots of a group that does not run
//	recovery.go           such a group gets other members, after a majority was lost
//
// What relies on how the library works inside, which nobody promises, has a test
// that fails when an upgrade changes it: exploit_test.go has the list.
//
// # What it refuses to know
//
// What a command means; the leader's work (group commit, waiting receives); when a
// leader is to be replaced; how nodes find each other; and which nodes may become
// members. It does not open the data directory or the network: it is given them, so
// that several groups share them. No type of the library leaves this package.
//
// # Who calls it
//
// Package cluster opens one Group per process today; a second one is a second Open
// with another id (two_groups_test.go). Package offline reads and recovers a group that
// does not run (Stored).
//
// # Design
//
// Messages. The library's own transport encodes by reflection and copies entries four
// times; ours writes them from where they lie (package wire), and speaks the library's
// encoding with nodes of older versions.
//
// Start. A group restores its newest snapshot, reads its whole log once, applies
// what the end mark of the log says is committed, and only then starts the library
// (replay.go). What follows the mark waits for a leader's word.
//
// Proof of leadership. There are no lease reads: the library's lease is a timer to
// step down, not a proof, and its VerifyLeader counts learners and late answers. So
// the leader asks a majority of the voters whether they know of a term after its own
// (leadership_proof.go). All calls that wait share one question, and none is answered
// by a question that was sent before the call.
//
// Commit index. The library tells followers what is committed with the next entries,
// or with empty messages at a fixed rate for ever. An idle leader was busy with fifty
// of them in a second, and every wakeup of an idle process costs some 20 to 30
// microseconds of a core. Here the library's own rate is low, and the commit notifier
// sends one message after a commit that no entries followed, or at once when a read
// waits for it.
package consensus
