// Command peers runs the same load on seriatim and on other queues, one after
// the other on one machine, and prints the ratios: make bench-peers.
//
// It owns how a peer is started and asked: with three nodes and every message
// synced to the disks of a majority before it is confirmed, as seriatim does it,
// because anything else is a different promise. The load on seriatim is
// `seriatim bench`; that on a peer is its own client library, one connection for
// each client, one call at a time.
//
// It is a module of its own, so that a peer's server is built from its source
// without being a dependency of the product. Nothing calls it but make.
package main
