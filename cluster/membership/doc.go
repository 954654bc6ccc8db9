// Package membership decides which nodes are members of the cluster and which of them leads.
//
// A node id belongs to a disk: a node with an empty disk is a new node. A new node joins as a
// learner. It gets its vote when it keeps up, or from an operator. Only an operator removes a
// member. The leader makes one change at a time, each of exactly the members that its checks
// have seen.
//
//	bootstrap.go      a new cluster from empty nodes
//	join.go           an empty node that finds a cluster
//	members.go        the list of members, and its health: probe.go, assess.go
//	change.go         changes by operators, at the leader: add, remove, promote, replace, move
//	promotion.go      learners that keep up become voters
//	removal_check.go  the process of a removed node ends
//	successor.go      which voter leads next; drain.go and resign.go: when this node must not lead
//	upgrade.go        the format version that all members can read
//	wire.go           requests between nodes
package membership
