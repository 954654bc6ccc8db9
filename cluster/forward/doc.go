// Package forward carries calls from the node that a client reached to the leader.
//
// # What it owns
//
// The Link, which is the way from this node to one other: a stream that packs the
// requests of many clients into frames. The Server, which is the other end, at the
// leader. The codec of the frames and the form of requests and outcomes on the wire
// (cluster/peer.proto). The passing on of a backup. The Probe of whether a node answers
// calls.
//
// # What it refuses to know
//
// Which node leads, and what to do about an outcome: package cluster routes a call,
// repeats it, and finds out what became of it. How nodes find and identify each
// other: connections are handed in.
//
// # Who calls it
//
// Package cluster, which keeps a Link to each node that it has asked and one Server.
// At the leader, the Server calls the leader.Term.
//
// # Design
//
// There is one stream per pair of nodes and direction (link.go, inbound.go). Frames
// gather by themselves what waits while the one before is sent, and what the
// goroutines that can run at that moment have to say, which makes the
// stream five times as fast as single calls (raft.md A6, B7). A request is for one
// leader in one term, so that nothing is executed that was on its way through an
// election. A stream that breaks leaves unknown what was sent on it; what was not
// sent was not proposed. When a node opens another stream, the leader proposes
// nothing any more that came over the one before: the node may have asked again. The
// order of the connections says which stream is the newest (connection.go).
//
// A backup to be restored goes over a connection of its own (backup.go): it is larger
// than any request, and the leader may refuse it before all is sent.
//
// The codec writes and reads the frames by hand (codec.go), in the bytes of the
// generated code, with two allocations for all requests of a frame. They travel on a
// connection of their own, each with one call to write it (framed.go, framed_stream.go):
// gRPC has two goroutines at each end for what is one here. Programs that do not know
// that are spoken to over gRPC (connect.go).
package forward
