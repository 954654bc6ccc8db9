// Package fault names the ways in which a node fails: the errors that its callers
// meet, and the exit codes with which its process ends.
//
// # What it owns
//
// The few errors that say whether something was written, so that every package
// of the cluster and its callers mean the same by them, and the exit codes that
// operators rely on. An uncertain outcome has an error of its own: it is never
// reported as a failure.
//
// # What it refuses to know
//
// How a condition is found, and what is done about it.
//
// # Who calls it
//
// Every package below cluster. Package cluster shows the names to its own
// callers.
package fault
