// Package refusal is the error that a client gets from a rule of the domain.
//
// # What it owns
//
// The codes, whose numbers are never reused, the error of a code and a text, and
// the texts that more than one rule uses, in the words of AWS.
//
// # What it refuses to know
//
// Which rule refuses what, and how a protocol writes an error: transport/sqs maps
// each code that its actions can cause to the wire form.
//
// # Who calls it
//
// Package queue and the packages below it, and whoever makes or compares a code.
package refusal
