// Package discovery finds the other nodes and hears what they say of themselves.
//
// # What it owns
//
// Gossip (memberlist) with its filter, its transport over a network that is not
// the machine's, and the comparison of this node's clock with those of the other
// voters, which travel on the probes of gossip.
//
// # What it refuses to know
//
// Who votes and who leads. What gossip says is a hint: for dialing, for forming a
// cluster, for what status shows. Nothing that must be right depends on it.
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
// of other clusters are kept out as soon as both sides have state, so two clusters
// that hear of each other by mistake stay two. The intervals are long: every
// message costs each idle node a wakeup of its processor.
package discovery
