// Package transport listens for clients and carries their requests to a
// handler.
//
// # What it owns
//
// The client listener: HTTP/1.1 and HTTP/2 on one port, with or without TLS;
// limits of time, size, memory and number of connections; the order of a clean stop;
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
// Package http1 serves the plain requests, which are nearly all, and hands every
// other connection on before it has used a byte of that request: to package http2 if it
// begins with the preface of HTTP/2, or TLS agreed on that, else to net/http. Both have a test
// TestSameAsNetHTTP, which holds them against net/http.
//
// One budget in bytes bounds what requests being read and answers being written
// take on all connections together, whoever serves them: see package budget. It
// is why bodies are read before a handler is called.
//
// Requests of gRPC share the port. Their bodies are streams, so package grpc reads
// and counts them itself; all else that bounds a connection holds for them, too.
//
// A handler learns its request's id and reports what it did through the
// [Request] in the context, so that access log and metrics are written in one
// place for all protocols, also when a handler panics.
package transport
