// Package peernet connects the nodes of a cluster. The two ends of a connection have proved their
// identity to each other.
//
// A Network has the listener of the peer port, the handshake that begins every connection, the book
// of known addresses, and calls with one question and one answer (Ask, Answering). A connection has
// a Kind and the id of a consensus group; the part of the program that serves the kind accepts it
// from Listener. All content is in frames with checksums (package frame).
//
// Nodes are dialed by id, not by address: after a restart, another node may have the address. The
// handshake names both ends, the cluster and the group. A node refuses the connection if one of
// them is wrong, or if the two programs have no format in common. Addresses are hints from gossip,
// kept across restarts.
package peernet
