// Package diagnose looks at the nodes of a cluster for people and for monitoring: checks
// against thresholds, and the bundle that goes with a report of a defect.
//
// # What it owns
//
// What is checked, from which numbers of the admin port, and when it is a warning or
// critical; what is in a bundle.
//
// # What it refuses to know
//
// How nodes are reached: package client hands in the addresses and a function that asks.
//
// # Who calls it
//
// Package client, for its commands check and debug.
package diagnose
