// Package bodies keeps message bodies in append-only segment files of one node. It owns their
// format, the newest bytes in memory, the goroutine that writes them out and the one that
// reclaims space.
//
// It knows no messages or queues: the state machine tells it which bodies a state holds and
// frees. Bodies that are not on disk yet are covered by the log.
//
// # Design
//
// Where a body lies is a property of one node and no part of the replicated state. The
// other way, a layout that all nodes share, would make the place of every byte a rule of
// the state machine: a node could neither switch the store on or off by itself, nor
// replace a damaged file, nor be upgraded without all others, and every later change of
// the layout would be a change of the format. What the shared layout would give, that
// files of two nodes can be compared by number, is given by the state: it knows which
// bodies there are.
//
// A segment begins with a head and is a sequence of records: length, CRC-32C over
// segment, offset, length, digest and text, digest, text. Numbers are little-endian. A
// record does not span segments, is never moved, and its place is never used again as
// long as anything may refer to it; the digest, which the state has, too, tells it from
// any other.
//
// A process numbers its segments from the highest that it found on. So the number of one
// that was removed may come again after a restart, if it was the highest. It was removed
// since the newest snapshot does not refer to it, with which the restart began; places
// outside of snapshots and of the log, which has none, end with the process, and so does
// the connection over which another node asks for bodies by their places. Whoever comes
// with an older place all the same, as one who inspects an older snapshot, has the digest
// and the length with it, and gets that text or none. A snapshot that refers to a segment
// from the first of this process on is of a directory that lost a file: it is refused
// (state.astray).
//
// Append copies into memory. A goroutine writes what is there in large pieces, and what
// was written stays in memory up to Options.CacheBytes, so that a queue that is read as
// fast as it is written to reads nothing from disk. Large bodies are written past the memory
// that the system keeps of files (direct.go). If the disk cannot follow, Append
// waits. Bodies that are read one behind the other, as a backlog is drained, are read from
// disk 64 KiB at a time. Nothing has to be synced for the sake of what was acknowledged: entries of the
// log hold the bodies until a snapshot takes their place, and before that one is written
// Sync brings all that it refers to onto the disk. That would have to write out too much at
// once, so the writer syncs every 16 MiB and at the end of a segment, too (writer.go). After
// a crash the state of the snapshot is restored, the entries behind it append their bodies
// again, in a new segment, and what was written behind the snapshot is in no state and goes.
//
// A node that is sent a snapshot takes in the bodies that it lacks (intake.go), so that the
// snapshot which it makes of that refers to segments like its own.
//
// # Giving space back
//
// For each block of 4 KiB the number of bodies in it is counted, from the messages as they
// come and go, and again when a snapshot is restored. A segment without bodies is
// removed; in others, blocks without any are given back to the file system where it can
// make holes (Linux); elsewhere they wait until the segment is empty. Bodies are never
// copied to save space, so that a body of a few hundred bytes which stays holds a block
// of 4 KiB.
//
// What was freed is given back when two things are true. A snapshot that was captured
// afterwards is on disk: then no restart asks for it again, since a restart begins with
// the newest snapshot. And nobody reads a state that was captured before: a backup, or
// the copy of a snapshot for another node. So every snapshot that can be used can be read
// in full, and what a queue consumes between two snapshots stays on disk until the
// second: about as much as the log has of it. Deletes of a backlog are short in the log, so
// that one is due when as many bytes of bodies were deleted, too, and as soon as the disk is
// nearly full (storage.LogStore.NoteDeleted, consensus.Group.ReclaimSpace).
//
// An answer may refer to a body that is purged before the answer is encoded. Such a body is
// read all the same, or it is gone, and the answer is given as one whose outcome is
// unknown; it is never another one.
//
// # Damage
//
// A body is checked whenever it is read from disk, and by package scrub at a bounded rate
// when nobody reads it. One that is not what was written is noted (Damaged), and its
// readers get a BeingHealed to wait for. Package scrub fetches its text from another node,
// and Heal writes the same record anew in the same place: no reference changes, and a
// crash in between leaves what was there before, or what is right. A body that no other
// node can give ends the node like any other damage of its data directory. So does a file
// that is missing when the node starts, or that ends before the last block of 4 KiB which
// has a body, for then more than a body is wrong. What is missing of that block is found as
// damage of the bodies in it.
//
// The state machine does not wait to be healed. The few commands that go by a text need it
// in the middle of an entry (Require), and package scrub cannot look for the message while
// the state changes. Nor would it help to ask other nodes from there. Those that have
// applied the entry do not have the message any more, since it is one that the command
// deletes or moves, and as a rule the leader has; those that have not may be waiting in the
// same way, also for this node. A list of what was deleted lately would have to be kept for
// it on all nodes, and would be empty for a node that comes to the entry at its start. So
// Require tries again for some seconds, as the reason may pass, and then the node ends: as
// damaged, or for its disk, with the place of the body in the message, at each start anew.
// The others go on. That a damaged copy is found before a command needs it is what the walk
// of package scrub is for.
package bodies
