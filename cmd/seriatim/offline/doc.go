// Package offline implements the commands that work on the files of a stopped node: its log, its
// snapshots, the verification of a backup, and the recovery from the loss of a majority.
//
// # Design
//
// Nothing but force-recover changes a data directory. That one says first what
// it would do, and does it only when told so twice. JSON output is a contract:
// fields are added, never renamed.
package offline
