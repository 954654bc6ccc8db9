// Package jsontext reads JSON, and writes its strings, where replicas must agree
// on every byte.
//
// # What it owns
//
// Which texts are JSON (RFC 8259) and how a string is written. It exists because
// what a library accepts and writes changes between versions of Go, and the nodes
// of a cluster may run different ones during an upgrade.
//
// # What it refuses to know
//
// What a text is for, and how long it may be.
//
// # How it reads
//
// [Parse] goes over a text once and notes where each value stands; a [Value] is
// such a place, and the rest of the text costs nothing more to step over. What is
// read can therefore be walked many times, and say where in the text it stands.
// An [Object] is for texts that are changed and written again.
//
// # How it writes
//
// [Quote] is the form of what is stored: policies that older logs hold were
// written so. [WriteEscaped] is the form of what SNS delivers; it goes to a buffer
// of the caller, which [EscapedLength] says the size of.
//
// # Who calls it
//
// Package policy for the policies of queues, topics and subscriptions, package filter
// for filter policies, package notification for what a topic delivers.
package jsontext
