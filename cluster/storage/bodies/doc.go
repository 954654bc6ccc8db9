// Package bodies keeps message bodies in append-only segment files of one node. It owns their
// format, the newest bytes in memory, the goroutine that writes them and the one that reclaims
// space. The state machine reports which bodies a state holds and frees. The log covers bodies that
// are not on disk yet.
//
// # Design
//
// The place of a body is local to a node and not part of the replicated state. In a layout shared
// by all nodes, the place of every byte would be a rule of the state machine: a node could not
// switch the store on or off by itself, replace a damaged file, or be upgraded alone, and every
// change of the layout would change the format.
//
// A segment is a head and a sequence of records: length, CRC-32C over segment, offset, length,
// digest and text, digest, text. Numbers are little-endian. A record does not span segments and
// never moves, and its place is not reused while anything may refer to it. The digest, which the
// state also has, distinguishes it from any other.
//
// A process numbers its segments from the highest number that it finds. So the number of a removed
// segment may return after a restart. It was removed because the newest snapshot does not refer to
// it. Other places, such as those used on a connection to another node, end with the process. A
// reader with an older place, such as an inspection of an older snapshot, also has digest and
// length, and gets that text or none. A snapshot that refers to a segment of this process shows
// that the directory lost a file, and is refused (state.astray).
//
// Append copies into memory. A goroutine writes in large pieces. Written bytes stay in memory up to
// Options.CacheBytes, so that a queue that is consumed as fast as it is filled needs no disk reads.
// Large bodies bypass the page cache (direct.go). If the disk cannot follow, Append waits. Bodies
// that are read in order, as when a backlog is drained, are read 64 KiB at a time.
//
// Acknowledged bodies need no sync here: the log holds them until a snapshot replaces its entries,
// and before a snapshot is written, Sync brings all its bodies to disk. To bound that work, the
// writer also syncs every 16 MiB and at the end of a segment (writer.go). After a crash, the
// entries after the restored snapshot append their bodies again, in a new segment; older copies
// belong to no state and are removed.
//
// A node that receives a snapshot takes in the bodies that it lacks (intake.go), so that the
// snapshot it makes of it refers to its own segments.
//
// # Reclaiming space
//
// For each block of 4 KiB, the number of bodies in it is counted, from the messages as they come
// and go and again when a snapshot is restored. An empty segment is removed. In other segments,
// empty blocks are returned to the file system where it supports holes (Linux); elsewhere they wait
// for the segment. Bodies are never copied to save space, so one remaining small body holds a block
// of 4 KiB.
//
// Freed space is reclaimed under two conditions. A snapshot that was captured after the deletion is
// on disk, because a restart begins with the newest snapshot. And no reader, such as a backup or
// the copy of a snapshot for another node, uses a state that was captured before. So every usable
// snapshot can be read in full, and deleted bodies stay on disk until the second snapshot after
// them. Deleting a backlog writes little log, so a snapshot is also due after as many bytes of
// deleted bodies, and when the disk is nearly full (storage.LogStore.NoteDeleted,
// consensus.Group.ReclaimSpace).
//
// An answer may refer to a body that is purged before the answer is encoded. If the body is gone,
// the outcome of that call is unknown; it never gets another body.
//
// # Damage
//
// A body is checked whenever it is read from disk, and by package scrub at a bounded rate. A
// damaged one is recorded (Damaged), and its readers get a BeingHealed to wait for. Package scrub
// fetches its text from another node, and Heal rewrites the same record in place: no reference
// changes, and a crash in between leaves the old or the new content. If no other node has the body,
// the node ends, as for other damage. It also ends if a segment is missing at the start, or ends
// before the last block that has a body. Damage within that block counts as damage of its bodies.
//
// A command that needs a text while it is applied cannot wait for another node (Require). Package
// scrub cannot look up the message while the state changes. Nodes that have applied the entry no
// longer have the message, as it is deleted or moved by the command, and others may be waiting in
// the same way. Require retries for a few seconds, and then the node ends with the place of the
// body in the error. The walk of package scrub finds most damage before a command needs the body.
package bodies
