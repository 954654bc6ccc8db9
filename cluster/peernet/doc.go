// Package peernet is the network between the nodes of a cluster: connections that
// know which node is at the other end.
//
// # What it owns
//
// The listener of the peer port, the handshake that begins every connection, the
// frames with checksums that follow it, the book of last known addresses, and the
// one way to put a question to another node (Ask, Answering). A connection has a
// Kind, which says what it is for, and the id of a consensus group; who serves
// that kind takes it from Listener.
//
// # What it refuses to know
//
// What is said after the handshake, who leads, and which nodes are members: it is
// told the id of this node, its cluster and the formats it reads.
//
// # Who calls it
//
// Package cluster opens one Network for the process. The consensus group, the
// failure detector, bootstrap, membership, forwarding and the scrubber dial and listen.
//
// # Design
//
// Nodes are dialed by id, not by address: an address says nothing about who
// answers, and after a restart another node may have it. The handshake names both
// ends, the cluster and the group, and is refused if one of them is wrong or if
// the two programs have no format in common. An address is a hint, taken from
// gossip and kept across restarts.
package peernet
