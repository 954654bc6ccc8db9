// Package storage holds everything that a node keeps on its disk: the data directory with its
// lock, and for each consensus group (GroupDir) the log (raft-wal or raft-boltdb), term and
// vote, and the snapshots.
//
// It wraps the stores of the libraries. Each entry has a checksum that is verified on each read,
// and the end of the log is marked outside of the log. The first failed write is final, and a
// write that hangs ends the process (DiskGuard). A node never continues with a file that it
// cannot trust.
//
// The segment files of message bodies are in package bodies, below.
//
// # Design
//
// One wrapper serves both log stores, so that what raft-wal and raft-boltdb leave
// unchecked is checked once. Log, and term and vote, have files of their own:
// votes do not wait for appends. Signs outside of the stores (log-written,
// stable-written) tell a new disk from one that lost its content.
//
// A cache in memory holds the newest entries for followers that are a little
// behind; it is bounded in bytes, as entries differ in size by a factor of a
// thousand. For the same reason what is kept behind a snapshot, and when the next
// one is due, is counted in bytes of log.
package storage
