// Package sqs is the API of Amazon SQS, version 2012-11-05: all 23 actions in
// both wire protocols.
//
// # What it owns
//
// The input and output of each action, one file per action; the action table;
// the table from domain errors to wire errors; queue URLs and ARNs; MD5 digests
// of bodies and attributes; checks of what only exists on the wire, such as the
// ids of batch entries.
//
// # What it refuses to know
//
// The rules of a queue, which package queue checks for every way in; the
// consensus library, the log, other nodes: a [Node] takes commands wherever the
// leader is.
//
// # Who calls it
//
// cmd/seriatim/server gives a [Service] to the client listener.
//
// # Design
//
// Order of checks (sqs.md 1.7): caller, action, required parameters, queue
// lookup, values. Values that a command carries are checked by the command
// itself, and the Node looks the queue up before it reports them. Only for what
// a command cannot carry does this package look the queue up itself, in
// Service.refuse.
//
// Every answer, refusals included, that passed the log carries its position in
// the headers x-seriatim-index and x-seriatim-log-time; an answer that was read
// carries the position the reading saw.
//
// Account ids in queue URLs are not compared, as hosts and regions are not: a
// client moved here from elsewhere keeps its URLs. There is one account.
package sqs
