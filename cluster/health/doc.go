// Package health names what is checked about a cluster, and when a value is a warning or
// critical.
//
// # What it owns
//
// The table of checks with their thresholds and advice, and the Finding: one measured value.
// Nodes tell each other their findings, the admin port shows them, and the command-line tool
// compares them with thresholds of its own.
//
// # What it refuses to know
//
// How a value is measured: a node measures what concerns itself, package state what is in
// the replicated state.
//
// # Who calls it
//
// Packages cluster and state, the server program, and the command-line tool.
package health
