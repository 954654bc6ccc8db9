// Package budget bounds the memory that clients can make a node hold.
//
// # What it owns
//
// [Bytes], one account of bytes that all connections of a port share, and the
// rule for what happens when it is used up: wait in order, for a bounded time
// and in bounded numbers, then fail with [ErrExhausted].
//
// # What it refuses to know
//
// Connections, requests, protocols: callers say how many bytes they hold.
//
// # Who calls it
//
// transport/http1 for the requests it reads and the answers it writes, package
// transport for those that net/http serves, and the protocol packages, which
// turn ErrExhausted into an error of their protocol.
package budget
