// Package discovery finds the other nodes by gossip (memberlist) and compares this node's clock
// with those of the other voters.
//
// Gossip only gives hints, for dialing, bootstrap and status. No decision depends on their
// correctness.
//
// # Design
//
// A gossip name belongs to one start of one node, so that a node which returns with another address
// does not conflict with its old entry. Members of other clusters are refused once both sides have
// state, so that two clusters do not merge by mistake. The intervals are long, because every
// message wakes the processor of an idle node.
package discovery
