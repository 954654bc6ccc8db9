// Package scrub looks for damaged bodies of messages in the segment files of this node,
// and brings them back from other nodes.
//
// # What it owns
//
// The walk over the messages that reads their bodies from disk at a bounded rate, the
// repair of what the walk or a reader found damaged, and the question to another node
// for a body, with its answer.
//
// # What it refuses to know
//
// How bodies lie in files: that is package bodies, which checks one, writes one anew and
// tells those who wait for it. And consensus: no entry of the log is needed, since a
// body is an immutable value that every node with its message has.
//
// # Who calls it
//
// Package cluster runs one Scrubber and serves its questions.
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
// change, and their bodies without that. What a walk misses, since it moved meanwhile,
// the next one sees.
//
// What a reader found is repaired at once, by a walk of its own that heals everything
// damaged in that segment: damage seldom comes alone. The readers wait for it as long as
// their calls may take. A repair ends with the body written anew in its place; or because
// no message has it any more; or, when every other node was asked and has said that it has
// no such body, or none can be asked for some time, with the end of this node.
package scrub
