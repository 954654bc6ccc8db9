// Package transport listens for clients and carries their requests to a handler: HTTP/1.1, HTTP/2 and
// AMQP on one port, with or without TLS. It bounds time, size, memory and connections, stops
// cleanly, gives each request an id, writes the access log, and recovers from a panic in a
// handler. The packages below hold the protocols; they do not know the listener.
//
// # Design
//
// Package http1 serves plain requests, which are nearly all. It passes every other connection on, with
// all its bytes: AMQP to package amqp, HTTP/2 to package http2, the rest to net/http. TestSameAsNetHTTP
// of http1 and http2 compares them with net/http.
//
// One budget in bytes bounds the requests being read and the answers being written on all connections:
// see package budget. Therefore bodies are read before a handler is called.
//
// Requests of gRPC share the port. Their bodies are streams, so package grpc reads and counts them
// itself. All other bounds of a connection apply to them, too.
//
// A handler fills in the [service.Request] in its context. Access log and metrics are written in one
// place for all protocols, also when a handler panics.
package transport
