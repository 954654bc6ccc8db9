// Package peernettest opens networks between nodes for the tests of packages that
// use them.
//
// # What it owns
//
// Opening and closing a network on a loopback address, with its address book.
//
// # What it refuses to know
//
// What is said on the connections.
//
// # Who calls it
//
// Tests of the packages of the cluster, and nothing else.
package peernettest
