// Package diagnose looks at the nodes of a cluster for people and for monitoring: checks
// against thresholds, and the bundle that goes with a report of a defect.
//
// # What it owns
//
// How what all members of a cluster say is compared with thresholds and put into lines; what
// is in a bundle. What is checked, and when it is bad, is in package health.
//
// # What it refuses to know
//
// How nodes are reached: package client hands in the addresses and a function that asks.
//
// # Who calls it
//
// Package client, for its commands check and debug.
package diagnose
