// Package consensus runs one replicated log: a Group is hashicorp/raft with the stores, the
// transport and the state machine around it. No type of the library leaves this package.
//
// Package cluster opens one Group in a process. It opens the data directory and the network,
// too, so that several groups can share them (two_groups_test.go).
//
// Where to look:
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
//	history.go            a leader whose log is not the continuation of this node's
//	install.go            snapshots to other nodes; fill.go puts one together with what is here
//	merged.go             messages that wait are written with one sync
//	commit_notifier.go    followers learn what is committed
//	ahead.go              entries leave before the leader's disk has them
//	stored.go             log and snapshots of a group that does not run
//	recovery.go           such a group gets other members, after a majority was lost
//
// exploit_test.go lists the inner workings of the library that this package relies on. Each has
// a test that fails when an upgrade changes it.
//
// # Design
//
// Messages. The library's own transport encodes by reflection and copies entries four
// times; ours copies them once at the most, and large ones not at all (package wire), and
// speaks the library's encoding with nodes of older versions. Entries that leave while they
// are written to disk are copied, up to 64 KiB: who begins to write must not wait for the
// other end. Of other messages the data is copied up to 8 KiB, beside which another call to
// the system costs more, and is written from where it lies above that. TLS joins pieces of
// up to 64 KiB, and encrypts into memory of its own whatever it is given.
//
// The leader's disk beside those of the followers. The library writes entries and then
// sends them. Here they leave when it begins to write them (ahead.go), and one client
// waits for the slower of two disks instead of one after the other. Why nothing is lost:
//
//   - Nobody confirms what its disk does not have. The library counts the leader when
//     StoreLogs has returned, which it does after the sync, as before; a follower answers
//     after its own. An answer to entries that left early is kept until the library sends
//     the same entries, so that it never hears of one that it did not ask for. A single
//     voter, learners beside it or not, thus commits what it has written.
//   - An entry has one index and one term, and only the leader of the term makes it. A
//     leader whose power goes while it writes, or that steps down or restarts, never
//     leads in that term again: term and vote are on its disk before it stands. What it
//     makes next has a later term, and so has what another leader makes. So no two
//     entries share index and term, whatever of them is on disks.
//   - A follower with an entry that its leader lost is a follower with an entry that is
//     not committed, as there are after every crash. It helps to elect a leader that has
//     the entry, which commits it, or takes it back for that of a later leader.
//   - A message that left early is one that the library could have sent: it follows what
//     was sent before on that connection, which the leader has written; the commit index
//     in it is one of this node while it led in the term of the entries; and it leaves
//     only while this node leads in that term. What does not follow does not leave, such
//     as the first entries after a restored backup.
//   - At most one write of the leader is under way, so one batch at most is on its way
//     that it may lose. The log of the leader never ends behind its disk: its last index,
//     verification, compaction and backups see what is written.
//   - A leader that is outvoted while it writes does nothing else before the write is done:
//     one goroutine of the library writes entries and takes messages. So it has its entries
//     on disk first, then hears of the later term, and then takes back what the new leader
//     has others for, as any follower does. It does not count them any more; and what it
//     sent before it heard is of a term that the others refuse once they know of the later.
//   - A pipeline that breaks takes its kept answers with it. The library has heard of none
//     of them, and hears of the end when it asks for the next: so the follower is for it
//     where the last answer left it that was handed out. It sends again from there, one
//     message at a time (transport.AppendEntries), and opens another pipeline when that
//     went well. A follower that has the entries already leaves them as they are.
//   - Entries that take out the leader itself are no exception. They may be on a follower
//     before they are on the leader's disk, which must not lead to a commit without either:
//     the library counts the members of such an entry only when it has written it, without
//     itself from then on, and steps down when it is committed. A follower that has the
//     entry counts its members, and needs the votes of a majority of them, in a later term.
//   - A transfer of leadership begins between two writes, on the goroutine that writes, and
//     the library refuses whatever would be written while it lasts. So no write is begun
//     then. What left before is asked for as always, until the other node has confirmed all
//     that the leader has; only then is it told to stand, in a later term.
//   - Members change when the entry that says so is in the log. A follower may have it
//     before the leader, as it may after a crash; the library begins no second change
//     before the first is committed.
//   - Who begins to write never waits for the network: what the connection does not take
//     at once another goroutine writes, and until then nothing else is written to it.
//   - A write that fails ends the process. That it was sent is as if the process had
//     ended a moment later.
//
// What waits behind a sync. A follower that writes finds several messages in the
// connection afterwards, and hands those that follow each other to the library as one
// (merged.go): one sync for all of them. It is the same as one after the other:
//
//   - They are of one leader in one term, and each begins where the one before ended. A
//     leader only appends to its log, so the whole is one that it could have sent, and
//     what is committed by it is bounded by its end as ever.
//   - The library takes all of it, or refuses it for what it would have refused the first
//     for: before the first entry. If it takes it, each message is answered with success,
//     which is true: everything up to its end is on the disk. If it does not, they are
//     handed on one by one, which is always allowed: messages may arrive twice.
//   - None waits for one that has not arrived whole, so a slow line delays nobody. What
//     waits is bounded by what the connection reads ahead, and in entries.
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
