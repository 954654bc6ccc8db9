// Package sqs is the API of Amazon SQS, version 2012-11-05: all 23 actions in
// both wire protocols.
//
// # What it owns
//
// The input and output of each action, one file per action; the table of actions
// with the resource and the permission of each; the table from domain errors to
// wire errors; MD5 digests of bodies and attributes; checks of what only exists
// on the wire, such as the ids of batch entries.
//
// # What it refuses to know
//
// The rules of a queue, which package queue checks for every way in; the
// consensus library, the log, other nodes: a [Node] takes commands wherever the
// leader is.
//
// # Who calls it
//
// cmd/seriatim/server hands the [aws.API] of a [Service] to package aws, which
// decodes requests, calls the actions and writes the answers.
//
// # Design
//
// Order of checks (sqs.md 1.7): caller, action, required parameters, queue
// lookup, values. Only for what a command cannot carry does this package look
// the queue up itself, in refuse.
package sqs
