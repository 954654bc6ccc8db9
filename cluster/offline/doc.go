// Package offline works on the data directory of a node that does not run.
//
// # What it owns
//
// Looking into log, snapshots and state, verifying a backup, and the recovery from
// the loss of a majority: its plan and its record, so that it can be repeated. As long
// as a directory is open here its node cannot start.
//
// # What it refuses to know
//
// The network and the other nodes: a recovery changes one directory, and the same
// plan carried out on each node that stays makes them one cluster again. And the
// consensus library: package consensus reads log and snapshots, and rewrites them.
//
// # Who calls it
//
// The offline commands of package cmd. Package cluster never does.
//
// # Design
//
// A recovery is told where the logs of all nodes that are left end. On a node with the
// longest it takes everything in the log as committed, makes these nodes the voters, and
// begins an epoch and a new cluster id. Another node begins empty and joins. The cluster id
// stands for one history: nodes of two do not talk to each other, and a node of the old one
// that comes back is told that it has ended, and ends.
//
// A recovery is recorded before it changes anything and again when it is done. In between
// a node does not start, and only the same recovery can be repeated.
package offline
