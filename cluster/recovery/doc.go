// Package recovery backs up the state of the cluster and restores a backup.
//
// A backup is a snapshot captured after a read barrier, on any node. A restore happens
// between two leader terms, when nothing is in flight, and with the leader as the only
// voter, so that it cannot end in two histories. Until then the bodies of the backup are in
// segments of their own, not in memory. The restored state begins an epoch
// (queue.Broker.BeginEpoch).
package recovery
