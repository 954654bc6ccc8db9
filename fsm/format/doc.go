// Package format holds what the formats of the log and of snapshots have in common.
//
// # What it owns
//
// The format versions of this program, the errors of reading what is stored, and the
// checksum.
//
// # What it refuses to know
//
// What is stored: commands, answers and entries are package codec's, records are
// package snapshot's.
//
// # Who calls it
//
// The packages below fsm, and those of the cluster that compare versions or turn an
// error into an exit code.
package format
