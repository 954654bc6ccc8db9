// Package snapshot writes the state of a Broker as a stream of sections and reads it back.
//
// # Design
//
// Snapshots are a sequence of sections of about 64 KiB, each with its number
// and CRC, so that neither side holds more than one section in memory and a
// report of damage can say where. Equal states give equal bytes with Write, which puts all
// bodies in. With WriteReferences they do not: it says where this node has them, and where
// that is differs from node to node, and on one node after a restart. A restored state is
// compared with the state hash in the header before it is used; places are not in the hash.
package snapshot
