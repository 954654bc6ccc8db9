// Package scrub finds damaged message bodies in the segment files of this node and fetches them
// from other nodes. Package bodies checks and rewrites a body. Healing needs no log entry, because
// a body never changes and each node with the message has it.
//
// # Design
//
// A node asks for a body by its message: queue, sequence number, length and keyed hash. The other
// node looks up the message in its own state and answers only with a body of that length and hash,
// from memory or from its own segments. The asking node hashes the answer before it writes it, so
// it never accepts another body.
//
// The walk follows the state, not the files, so that it knows the messages of all bodies in use. It
// reads a page of messages at a time while the state cannot change, and then, without that lock,
// the bodies of some pages. They are dropped from the page cache first, so that the disk is read. A
// message that moves during a walk may be skipped until the next one.
//
// Damage that a reader finds starts a walk at once. It heals all damage in that segment, because
// damage seldom comes alone. The readers wait for it as long as their calls allow. A body that
// cannot be healed at once is retried individually and delays no other.
//
// # When a node gives up
//
// Healing ends when no message of this node has the body. While another node does not answer, this
// node keeps asking. A refusal does not prove that the body is lost: the other node may not have
// the message yet, or may have deleted it already. So each answer contains the last entry that the
// other node had applied. A refusal counts if that node had applied at least the entries that this
// node had applied when it looked up the message. It is conclusive once this node has applied as
// much as the refusing node and still has the message: then the other node has it too, and its body
// is damaged there. All others must refuse for some seconds, as one of them may be healing the body
// from another. Then no node has the body, and this node ends, as for any damaged data.
package scrub
