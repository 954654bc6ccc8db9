// Package cluster makes one broker out of several nodes: it replicates
// commands, keeps the log on disk, finds the other nodes, sends requests to
// the leader, stamps the time, and runs what only a leader may run.
//
// # What it owns
//
// The data directory, also of a node that does not run, backup and restore.
// The consensus library and its stores (behind Group), the routing of calls, the
// members of the cluster, audits, and the status and metrics of all these. What only
// a leader does is in package leader, the way to it in package forward.
//
// # What it refuses to know
//
// The rules of a queue (package queue), the encodings of commands and
// snapshots (package fsm), and the wire protocols of clients (package
// transport). A command passes through as bytes.
//
// # Who calls it
//
// Package cmd opens a Node and closes it. Package transport calls Submit,
// Receive and Read of it, on whichever node the client reached.
//
// # Design
//
// Path of a write. The accepting node checks what needs no state, encodes the
// command once, and hands the bytes to the leader.Term if it leads, else to the one
// stream it holds to the leader (package forward). How the leader writes them into the
// log is described in package leader.
//
// Outcomes. An attempt ends in one of three ways: an answer, "not proposed", or
// "unknown". Not proposed is retried by the accepting node until its deadline. Of
// an unknown attempt the accepting node finds out by itself what became of it, as
// soon as there is a leader of a later term: the id of the request is in the log,
// which it applies, too (ownRequests). Where that is not possible the attempt is
// retried only if the same command twice is the same as once, see retrySafe; else it
// is reported as ErrOutcomeUnknown. Once an attempt stayed unknown, a later "not
// proposed" or refusal proves nothing about it, and the call ends unknown, too.
//
// Reads. The leader confirms an index (package leader); a follower asks it for that
// index, and each waits itself until it has applied the log up to there.
//
// Backup and restore. A backup is a snapshot captured after a read barrier, on
// any node. A restore happens between two leader terms, when nothing is in flight,
// and with the leader as the only voter, so that it cannot end in two histories; the
// restored state begins an epoch (queue.Broker.BeginEpoch). Recovery from a lost
// majority works on the data directory of a stopped node and begins an epoch and
// a cluster id, so that the nodes that were lost are strangers.
//
// Idle. Every wakeup of an idle process costs some 20 to 30 microseconds of a
// core (measured on a virtual machine, where they are dear), and nearly all of a
// leader's were messages of the consensus library: heartbeats, one to each
// follower every 50 to 100 ms with its timeout at 500 ms, and as often an empty
// message that repeats the commit index. So that timeout is three times as long,
// the commit index is told once, after the last write (package consensus), and a leader
// that is gone, or that nobody knows after all were down, is noticed by other
// means (package election), long before the timeout.
//
// Members. A node id belongs to a disk: an empty disk is a new node. A new node
// joins as a learner (join.go), gets its vote when it keeps up (promotion.go) or
// when an operator says so (membership_leader.go), and is removed by an operator
// only. The leader makes one change at a time, each of exactly the configuration
// its checks have seen. A removed node is told nothing and finds out by asking
// (removal_check.go).
package cluster

//go:generate go run -C ../test/tools ./protogen -grpc -out cluster/peerpb cluster/peer.proto
