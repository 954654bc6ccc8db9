// Command write makes the overlay with which a fault build is built, and prints its
// path.
//
// # What it owns
//
// Where the edited files are written to.
//
// # What it refuses to know
//
// The edits: those are package plants'.
//
// # Who calls it
//
// make build-faults.
package main
