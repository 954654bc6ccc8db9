// Package checking says how often the state checks itself.
//
// # What it owns
//
// The build tag invariants, with which every command is followed by a check.
//
// # What it refuses to know
//
// What is checked.
//
// # Who calls it
//
// Package queue, after each command.
package checking
