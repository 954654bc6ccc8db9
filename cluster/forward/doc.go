// Package forward carries calls from the node that a client reached to the leader.
//
// A Link connects this node with one other and packs the requests of many clients into frames. The
// Server at the leader answers them. SendBackup and ReceiveBackup carry a backup to the leader, and
// Probe tests whether a node answers calls. Package cluster chooses the node, repeats calls and
// resolves unknown outcomes.
//
// Each pair of nodes has one connection per direction (link.go, inbound.go). A frame holds the
// requests that arrived while the previous frame was sent, and those of goroutines that can run at
// that moment, which makes the connection five times as fast as single calls (raft.md A6, B7).
//
// A request names its leader and term, so no request is executed that was on its way during an
// election. If the connection breaks, the outcome of each sent request is unknown; the others were
// not proposed. When a node opens another connection, the leader proposes nothing more from the
// earlier one, because the node may have repeated those requests. Connections are ordered by their
// acceptance at the leader.
//
// A backup to restore has a connection of its own (backup.go): it is larger than any request, and
// the leader may refuse it early.
package forward
