// Package environment is what a node finds outside of its process: the clock,
// randomness, the network, the space on its disk, and a hook around each write.
//
// # What it owns
//
// The interfaces through which the other packages of the cluster meet the
// machine, and the machine's own implementation of each. It is the only place
// below package cmd that reads the time or draws random bytes, so that tests
// and fault runs can hand in their own.
//
// # What it refuses to know
//
// Everything about clusters: it imports no other package of this module.
//
// # Who calls it
//
// Package cluster fills in what its Config leaves out and hands the parts to
// the packages below it.
package environment
