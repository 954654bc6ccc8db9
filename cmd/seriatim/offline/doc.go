// Package offline owns the commands that work on files instead of a running
// server: the log, snapshots and state of a stopped node, the verification of a
// backup, and the recovery from the loss of a majority.
//
// It opens data directories through package cluster, which locks them, so that a
// running node is refused; it refuses to know the formats of the files and to
// speak to a server. Main calls AddTo.
//
// # Design
//
// Nothing but force-recover changes a data directory. That one says first what
// it would do, and does it only when told so twice. JSON output is a contract:
// fields are added, never renamed.
package offline
