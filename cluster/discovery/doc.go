// Package discovery finds the other nodes and learns what they say of themselves.
//
// # What it owns
//
// Gossip (memberlist) with its filter, its transport over a network that is not
// the machine's, and the comparison of this node's clock with those of the other
// voters, which travel on the probes of gossip.
//
// # What it refuses to know
//
// Who votes and who leads. What gossip says is a hint: for dialing, for bootstrap, for
// what status shows. Nothing that must be right depends on it.
//
// # Who calls it
//
// Package cluster opens one Gossip for the process, tells it what to say of this
// node (Options.Self) and reads what the others say (View, Changes).
//
// # Design
//
// A gossip name belongs to one start of one node, so that a node that comes back
// with another address is not in conflict with what the others remember. Members
// of other clusters are refused as soon as both sides have state, so that two clusters
// that hear of each other by mistake do not merge. The intervals are long, because
// every message wakes the processor of an idle node.
package discovery
