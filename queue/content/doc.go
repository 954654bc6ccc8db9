// Package content is what a message may contain.
//
// # What it owns
//
// The body, the message attributes with their types and numbers, the trace header,
// the characters and the form of the ids that a client may send, how the size of a
// message is counted, and the message attributes with which a client asks for more
// than AWS has: seriatim.ScheduledEnqueueTime and seriatim.PartitionKey.
//
// # What it refuses to know
//
// What a queue or a topic demands beyond that: which ids must be there, how long a
// message may be, and in which order the checks are made.
//
// # Who calls it
//
// Packages queue and notification; the protocols, for what they check or read of a
// message themselves.
package content
