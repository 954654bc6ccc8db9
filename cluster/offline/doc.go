// Package offline works on the data directory of a stopped node: it shows log, snapshots and
// state, verifies a backup, and recovers from the loss of a majority. A node cannot start while
// its directory is open here.
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
