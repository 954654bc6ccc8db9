// Package transport listens for clients and carries their requests to a
// handler.
//
// # What it owns
//
// The client listener: HTTP/1.1 and HTTP/2 on one port, with or without TLS;
// limits of time, size and number of connections; the order of a clean stop;
// the request id, the access log, and the recovery from a panic in a handler.
//
// # What it refuses to know
//
// Any wire protocol, any action, the cluster. Those are its subpackages, and
// they do not know the listener either.
//
// # Who calls it
//
// cmd/seriatim/server builds a Server for the client port and one for the
// admin port.
//
// # Design
//
// Nearly all requests are plain POSTs over HTTP/1.1 without TLS, and of a small
// one net/http's share was the largest single cost of a node: 26 allocations
// and several system calls more than one read and one write. http1Server serves
// those, half as expensive, and hands a connection with anything else over to
// net/http before it has used a byte of that request; every rule of HTTP that
// is not the plain case is therefore net/http's. TestSameAsNetHTTP holds the
// two against each other. What is left is mostly the two system calls.
//
// A handler learns its request's id and reports what it did through the
// [Request] in the context, so that access log and metrics are written in one
// place for all protocols, also when a handler panics.
package transport
