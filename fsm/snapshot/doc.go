// Package snapshot writes the state of a Broker as a stream and reads it back.
//
// # What it owns
//
// The stream of sections, the records in it, their numbers, and the Position in the
// log that a snapshot is of.
//
// # What it refuses to know
//
// Who asks for a snapshot, and where it is kept: it is handed readers and writers.
//
// # Who calls it
//
// Package fsm, for the consensus library; package cluster, for backups, restores and
// reports of differing states; cluster/offline, which inspects a snapshot.
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
