// Package jsontext reads JSON (RFC 8259) and writes its strings where replicas must agree on
// every byte. The standard library accepts and writes different texts in different versions of
// Go, and the nodes of a cluster may run two of them during an upgrade.
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
package jsontext
