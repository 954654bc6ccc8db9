// Package client is the Go client of the native API, package seriatim.v1: it sends, publishes
// and consumes over any node of a cluster, follows the leader, and retries a failed call without
// executing it twice. docs/reference/grpc.md is the manual. It uses the published proto alone, as
// clients in other languages do.
//
// A retry has a token: a deduplication id for sends, an attempt id for receives, the receipt
// handle for the other calls. A handler sees the messages of a group in order.
//
// # Design
//
// Answers name the node that gave them and the leader. The client remembers which
// endpoint is which node, and asks the leader if it knows where that is: other
// nodes would pass the request on. An endpoint that cannot be reached is left for
// the next one.
//
// A call is made again if its status says that nothing was done, and after
// an unknown outcome only if repeating it is harmless: a send to a FIFO queue,
// or a publish to a FIFO topic, whose messages all have deduplication ids (the client makes them where the
// caller gave none), a receive from one and the acceptance of a session under an
// attempt id, deletes and visibility changes. Any other call returns the error.
package client
