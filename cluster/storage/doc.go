// Package storage keeps the files of a node: the data directory with its lock, and for each
// consensus group (GroupDir) the log (raft-wal or raft-boltdb), term and vote, and the snapshots.
// Package bodies keeps the segment files of message bodies.
//
// It wraps the stores of the libraries. Each entry has a checksum that is verified on each read,
// and the end of the log is also recorded outside the log. The first failed write and a write that
// hangs end the process (DiskGuard): a node never continues with a file that it cannot trust.
//
// # Design
//
// One wrapper serves both log stores, so the checks that raft-wal and raft-boltdb lack exist once.
// Log and vote have separate files, so that votes do not wait for appends. Marker files outside the
// stores (log-written, stable-written) tell a new disk from one that lost its content.
//
// A cache in memory serves the newest entries to followers that lag a little. The cache, the
// entries kept before a snapshot, and the distance between snapshots are bounded in bytes, not
// entries: entries differ in size by a factor of a thousand.
package storage
