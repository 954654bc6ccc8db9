// Package forward carries calls from the node that a client reached to the leader, over one
// stream for each pair of nodes and direction. Link is the sending end, Server the end at the
// leader. Probe checks whether a node answers calls.
//
// Package cluster decides which node leads, routes a call, and finds out the outcome of a call
// whose answer was lost.
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
