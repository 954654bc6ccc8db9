// Package grpcwire is the gRPC of the load generator, written for little processor time.
//
// # Design
//
// On the machine of the servers, what the generator costs is missing there. The
// client of grpc-go has three goroutines for a connection and makes some hundred
// allocations for a call; this one writes a call with one system call and makes
// none, as the HTTP/1.1 client of the generator does. So rates over the two can be
// compared.
//
// Programs that use gRPC share a connection. On a shared one, a caller whose call is ready lets
// others append theirs before it writes, and one goroutine reads what answers there are
// with one system call and wakes their callers. No call has a timer: the
// deadline of the connection moves with the calls, and who moves it looks for calls that
// have lasted too long.
package grpcwire
