// Package transport listens for clients and carries their requests to a handler: HTTP/1.1 and
// HTTP/2 on one port, with or without TLS. It bounds time, size, memory and connections, stops
// cleanly, gives each request an id, writes the access log, and recovers from a panic in a
// handler. The packages below hold the protocols; they do not know the listener.
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
