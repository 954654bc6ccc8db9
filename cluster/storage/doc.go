// Package storage is everything that a node keeps on its disk.
//
// # What it owns
//
// The data directory with its lock, the identity of the node and the records
// beside it; and, for each consensus group (GroupDir), the log (raft-wal or raft-boltdb),
// term and vote, and the snapshots. What a restore keeps for a while (Spool) is removed at
// the next start if it is still there. The libraries' stores are wrapped: every
// entry has a checksum that is verified when it is read, the end of the log is
// marked outside the log, the first failed write is final, and a write that
// hangs ends the process (DiskGuard). A node never goes on with a file that it
// cannot trust. Bodies of messages have segment files beside these: package bodies,
// below, which is given their directory and the DiskGuard, and heals what is damaged there
// instead of ending the node where another one has it.
//
// # What it refuses to know
//
// What an entry means, who leads, and which nodes there are. It uses the types of
// the consensus library and never starts it.
//
// # Who calls it
//
// Package consensus opens the stores, for the library or to read those of a stopped
// node. Packages cluster and offline open the directory and keep their records here.
// Package bodies writes through the DiskGuard.
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
