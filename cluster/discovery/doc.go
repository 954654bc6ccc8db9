// Package discovery finds the other nodes by gossip (memberlist) and compares this node's clock
// with those of the other voters.
//
// Gossip only gives hints, for dialing, for bootstrap and for status. No decision that must be
// right depends on it.
//
// # Design
//
// A gossip name belongs to one start of one node, so that a node that comes back
// with another address is not in conflict with what the others remember. Members
// of other clusters are refused as soon as both sides have state, so that two clusters
// that hear of each other by mistake do not merge. The intervals are long, because
// every message wakes the processor of an idle node.
package discovery
