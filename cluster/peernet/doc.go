// Package peernet opens and accepts connections between the nodes of a cluster. Each connection
// begins with a handshake that names both nodes.
//
// It owns the listener of the peer port, the frames with checksums, the book of last known
// addresses, and one way to ask another node (Ask, Answering). A connection has a Kind and the
// id of a consensus group. A part of the node takes the connections of its kind from Listener.
//
// # Design
//
// Nodes are dialed by id, not by address: an address says nothing about who
// answers, and after a restart another node may have it. The handshake names both
// ends, the cluster and the group, and is refused if one of them is wrong or if
// the two programs have no format in common. An address is a hint, taken from
// gossip and kept across restarts.
package peernet
