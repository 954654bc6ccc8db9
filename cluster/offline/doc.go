// Package offline works on the data directory of a stopped node: it shows log, snapshots and state,
// verifies backups, and recovers from the loss of a majority. A node cannot start while its
// directory is open here.
//
// # Design
//
// A recovery takes the ends of the logs of all remaining nodes. On a node with the longest log, it
// counts the whole log as committed, makes the nodes with that log the voters, and begins an epoch
// and a new cluster id. Any other node begins empty and joins. A cluster id identifies one history:
// nodes of two histories refuse each other, and a node of the old one that returns learns that its
// cluster has ended and exits.
//
// A recovery is recorded before it changes anything, and again at its end. In between, the node
// does not start, and only the same recovery can be repeated.
package offline
