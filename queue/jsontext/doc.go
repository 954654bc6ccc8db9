// Package jsontext reads JSON (RFC 8259) and writes its strings where replicas must agree on
// every byte. The standard library accepts and writes different texts in different versions of
// Go, and the nodes of a cluster may run two of them during an upgrade.
//
// # How it reads
//
// A [Scanner] reads a text once, token by token; the JSON protocol of AWS uses it. [Parse] notes with
// a Scanner the place of each value, so that a [Value] can be walked many times and knows its offset.
// An [Object] is for texts that are changed and written again.
//
// # How it writes
//
// [Quote] is the form of what is stored: policies that older logs hold were
// written so. [WriteEscaped] is the form of what SNS delivers; it goes to a buffer
// of the caller, which [EscapedLength] says the size of.
package jsontext
