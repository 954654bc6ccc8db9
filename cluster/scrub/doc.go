// Package scrub finds damaged message bodies in the segment files of this node and fetches them
// from other nodes. Package bodies checks and rewrites a body. The repair needs no entry of the
// log, because a body never changes and each node with the message has it.
//
// # Design
//
// A body is asked for by its message: queue, sequence number, length and keyed hash. The
// other node looks the message up in its own state, so that it may keep the body in
// memory, or in a segment of its own at another place, and answers only with a body of
// that length and hash. What comes is hashed again here before it is written. So a node
// never takes another body for it, whatever the other node sends.
//
// The walk goes over the state and not over the files: so it knows what is in use, and of
// which message it is. It reads a page of messages at a time while the state cannot
// change, and their bodies without that, some pages at a time, after it had the system drop
// what it keeps of the files in memory, which says nothing about the disk. What a walk
// misses, since it moved meanwhile, the next one sees.
//
// What a reader found is repaired at once, by a walk of its own that heals everything
// damaged in that segment: damage seldom comes alone. The readers wait for it as long as
// their calls may take. What cannot be healed at once is tried again, each by itself, and
// does not keep others from being healed.
//
// # When a node gives up
//
// A body is no longer wanted as soon as no message of this node has it. Otherwise, as long
// as another node does not answer, the body may be there, and this node goes on asking. Nor
// does a refusal prove that nobody has it: a node that is behind does not have the message
// yet, and one that is ahead may have deleted it, and then it is this node that is behind.
// So each answer says up to which entry the other node had applied. A refusal counts if
// that is not before the entry up to which this node had applied when it found the message
// with its body; and it is believed when this node has applied as much as the node that
// refused. If the message is here even then, no entry has deleted it: by the order of the
// log it is at the other node, too, and its body is damaged there. The same must have been
// the answer of all others for some seconds, since one of them may be healing it from
// another. Then no node has the body, and this one ends, like any node whose data is
// damaged.
package scrub
