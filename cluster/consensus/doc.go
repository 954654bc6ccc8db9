// Package consensus runs one replicated log: a Group is hashicorp/raft with its stores, transport
// and state machine. No type of the library leaves this package. Several groups can share the data
// directory and the network (two_groups_test.go).
//
// Where to look:
//
//	open.go               opening a group: stores, replay, library
//	proposal.go           writing an entry, and the meaning of errors
//	machine.go, replay.go applying entries, live and at the start
//	snapshots.go          when snapshots are taken; pacer.go says how fast
//	restore.go            a backup becomes the state of all members
//	members.go            voters and learners, and changes of them
//	leadership.go         who leads; leadership_proof.go proves it for a read
//	campaign.go           an election before the timeout of the library
//	transport.go          messages to other nodes; links.go, pipeline.go, parts.go
//	serving.go            messages from other nodes; inbound.go works around faults
//	history.go            detects a leader with another history
//	install.go            snapshots to other nodes; incoming.go assembles one here
//	merged.go             waiting messages share one sync
//	commit_notifier.go    sends followers the commit index
//	early_append.go       sends entries before they are on the leader's disk
//	stored.go             log and snapshots of a stopped group
//	recovery.go           new members for a stopped group that lost its majority
//
// exploit_test.go lists the inner workings of the library that this package relies on. Each has a
// test that fails when an upgrade changes it.
//
// # Design
//
// Messages. The library's own transport encodes by reflection and copies entries four times;
// package wire copies them at most once, and large ones not at all. Early entries are copied, up to
// 64 KiB, because the writing goroutine must not block. TLS joins pieces of up to 64 KiB.
//
// Early append. Entries are sent when the leader begins to write them (early_append.go), so a
// client waits for the slower of two disks instead of one after the other. Nothing is lost:
//
//   - A node confirms only entries on its disk. The library counts the leader after StoreLogs returned, and a
//     follower answers after its own sync. The answer to early entries is kept until the library sends the
//     same entries. A single voter therefore commits only written entries.
//   - Only the leader of a term makes entries of that term. A leader that loses power while writing, steps down
//     or restarts never leads that term again: term and vote are on its disk before it becomes a candidate. So
//     no two entries share index and term.
//   - A follower with an entry that its leader lost has an uncommitted entry, as after any crash. A later leader
//     commits or replaces it.
//   - The library could have sent every early message: it follows the last message on that connection, its
//     commit index is one of this node in the term of the entries, and it is sent only while this node leads
//     that term. Other entries, such as the first after a restored backup, are not sent early.
//   - The leader writes one batch at a time, so at most one batch is sent that it may lose. Its log always ends
//     with its disk: last index, verification, compaction and backups see written entries only.
//   - One goroutine of the library writes entries and handles messages. A leader that is outvoted while writing
//     first completes the write, then learns of the later term, and truncates like any follower. Followers
//     refuse its early entries once they know of the later term.
//   - A broken pipeline loses its kept answers. The library gets the error with its next message, resends from
//     the last delivered answer, one message at a time (transport.AppendEntries), and opens a new pipeline. A
//     follower keeps entries that it already has.
//   - Entries that remove the leader are no exception. The library applies the new members after writing the
//     entry, without the leader from then on, and the leader steps down when it is committed. A follower that
//     has the entry needs a majority of its members in a later term.
//   - A leadership transfer begins between two writes, and the library refuses new entries while it lasts.
//     Earlier entries are requested as usual until the other node has confirmed all. Only then is it asked to
//     campaign, in a later term.
//   - Members change when the entry is in the log. A follower may have it before the leader, as after a crash;
//     the library begins no second change before the first is committed.
//   - The writing goroutine never waits for the network: another goroutine writes what the connection does not
//     accept at once, and nothing else is written to it before that.
//   - A failed write ends the process, as if it had ended a moment later.
//
// Merged messages. A follower that writes finds several messages in the connection afterwards. It
// passes those that follow each other to the library as one, with one sync (merged.go). The result
// is the same:
//
//   - They are from one leader in one term, and each begins where the one before ended. A leader only appends, so
//     it could have sent the whole, and the commit index is bounded by its end as usual.
//   - The library accepts all of it, or refuses it for a reason before its first entry. If it accepts, each
//     message is answered with success: everything up to its end is on disk. If not, they are passed one by one,
//     which is always allowed, since messages may arrive twice.
//   - No message waits for one that has not completely arrived. The read buffer and a number of entries bound
//     the merged message.
//
// Start. A group restores its newest snapshot, reads its whole log once, applies the entries that
// the end mark of the log shows as committed, and only then starts the library (replay.go).
//
// Proof of leadership. There are no lease reads: the library's lease is a timer to step down, and
// its VerifyLeader counts learners and late answers. So the leader asks a majority of the voters
// for a term after its own (leadership_proof.go). Waiting calls share one question, which is sent
// after they arrive.
//
// Commit index. Each wakeup of an idle process costs 20 to 30 microseconds of a core, and the
// library would wake fifty times a second. So its rate is low, and the commit notifier sends one
// message after a commit that no entries follow, or at once when a read waits.
package consensus
