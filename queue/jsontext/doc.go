// Package jsontext reads JSON (RFC 8259) and writes its strings where replicas must agree on every
// byte. The standard library accepts and writes different texts in different versions of Go, and a
// rolling upgrade mixes versions.
//
// # Reading
//
// A [Scanner] reads a text once, token by token, for the JSON protocol of AWS. [Parse] records the
// position of each value, so that a [Value] can be visited many times. An [Object] can be changed
// and written again.
//
// # Writing
//
// [Quote] writes the form of stored texts. [WriteEscaped] writes the form of SNS's deliveries into
// the caller's buffer; [EscapedLength] returns its length.
package jsontext
