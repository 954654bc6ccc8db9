// Package fsmtest is what the tests of the packages below fsm share.
//
// # What it owns
//
// A Filler that sets every field of a command, an answer or a record, golden files,
// and a sample send for benchmarks.
//
// # What it refuses to know
//
// The packages it helps to test, so that each of them can use it in its own package:
// it never encodes anything.
//
// # Who calls it
//
// Tests, and nothing else.
package fsmtest
