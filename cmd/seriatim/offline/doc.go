// Package offline implements the commands that work on the files of a stopped node: its log, its
// snapshots, the verification of a backup, and the recovery from the loss of a majority.
//
// # Design
//
// Only force-recover changes a data directory. It prints its plan first, and needs --yes and the
// id of the node. JSON output is a contract: new fields may come, no field is renamed.
package offline
