// Package client is the Go client of the native API, package seriatim.v1: it sends,
// publishes and consumes over any node of a cluster, follows the leader, and repeats what
// failed without doing it twice.
//
// # What it owns
//
// Connections to the nodes; which of them is asked; what is asked again, and
// under which tokens: deduplication ids for sends, attempt ids for receives,
// receipt handles for all else; the order in which a handler sees the messages of
// a group.
//
// # What it refuses to know
//
// The server's packages: it is built on the published proto alone, as clients in
// other languages are.
//
// # Who calls it
//
// Programs that use a cluster. docs/manual/grpc.md is the manual.
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
