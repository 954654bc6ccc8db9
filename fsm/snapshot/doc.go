// Package snapshot writes the state of a Broker as a stream of sections and reads it back.
//
// # Design
//
// A section has about 64 KiB, a number and a CRC. So writer and reader hold one section in memory,
// and an error names the damaged one.
//
// Write includes all bodies: equal states give equal bytes. WriteReferences writes the places of
// bodies in the files of this node instead. Places differ between nodes, and on one node after a
// restart, so they are not part of the state hash.
//
// A restored state is compared with the state hash in the header before it is used.
package snapshot
