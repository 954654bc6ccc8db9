// Package forward carries calls from the node that a client reached to the leader.
//
// A Link connects this node with one other and packs the requests of many clients into
// frames. The Server at the leader answers them. SendBackup and ReceiveBackup carry a
// backup to the leader, and Probe tests whether a node answers calls. Package cluster
// chooses the node, repeats calls and resolves unknown outcomes.
//
// There is one connection per pair of nodes and direction (link.go, inbound.go). A frame
// holds the requests that arrived while the one before was sent, and those of goroutines
// that can run at that moment, which makes the connection five times as fast as single
// calls (raft.md A6, B7). A request is for one leader in one term, so that no request
// that was on its way through an election is executed. If the connection breaks, the
// outcome of each request sent on it is unknown; requests that were not sent were not
// proposed. When a node opens another connection, the leader proposes nothing more that
// came over the one before, because the node may have repeated it. The order in which the
// leader accepts connections says which is the newest.
//
// A backup to be restored has a connection of its own (backup.go): it is larger than any
// request, and the leader may refuse it before it is sent completely.
//
// The codec writes and reads the bytes of peer.proto by hand (codec.go), with two
// allocations for all requests of a frame. Each frame is written with one call
// (framed.go, framed_stream.go).
package forward
