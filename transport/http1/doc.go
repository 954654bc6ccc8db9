// Package http1 serves plain POST requests over HTTP/1.1, with and without TLS, at a fraction of
// the cost of net/http. A connection that brings anything else goes to net/http with every byte
// of that request, and stays there.
//
// # Design
//
// Nearly all requests of SQS clients are plain POSTs, and net/http's share was
// the largest single cost of a small one: 26 allocations and several system
// calls more than one read and one write. Here a request costs half of that;
// what is left is mostly the two system calls.
//
// A request is served here only if each of its lines has exactly one meaning:
// the method POST, a path without escapes and query, a Host, one
// Content-Length, at most 64 headers of ordinary characters, and none that
// changes how the body or the connection is read. FuzzHTTP1 checks with
// arbitrary bytes that net/http would have read the same, and that it gets
// every byte of what is not served here.
//
// A handler that waits for something may return and answer later (suspend.go). Until
// then the connection has no goroutine and no buffer: the stack of the goroutine, 8 KiB,
// was nearly half of what a waiting consumer took.
//
// # Threats
//
// The port may face the internet. Attacks, and the defence against each:
//
//   - Silence. A connection must show the first byte of a request and the end
//     of its header within HeaderTimeout each, whether it is new, idle or
//     pipelining, the TLS handshake included; a body must be there within
//     BodyTimeout, an answer be taken within WriteTimeout. A client cannot
//     extend any of them by sending a little at a time. Only between two
//     requests may a connection be silent for IdleTimeout. So sockets that say
//     nothing free their place among max-connections.
//   - Large requests, half sent. Buffers grow with what has arrived, to four times
//     as much, never with what a length announces. Beyond FreeBytes a connection takes the bytes of
//     its buffer, and of the answer it writes, from an account that all
//     connections share (package budget). When that is used up a request waits
//     a few seconds, then its body is read and dropped, and the handler answers
//     with a retryable error. While it is scarce slow clients get less time.
//   - Answers that the client does not read. They are taken from the same account until the
//     kernel has them or WriteTimeout ends.
//   - Many or large headers. More than HeaderBytesMax or headersMax are not
//     served here. Nothing of a header outlives its request.
//   - Two readings of one request (smuggling). Both a length and an encoding,
//     two lengths, bare line feeds, folded lines, unusual white space: all are
//     net/http's to judge, which refuses them. A body that did not come whole
//     closes the connection, so that the remaining input is never read as a request.
//   - Split answers. A line end in the value of a header becomes a blank.
//   - A request that makes this code panic. The panic is logged and counted, and
//     closes that one connection.
//   - Floods of requests without a key, pipelined or not. They take turns (package unverified).
//   - Slow or false TLS. The handshake has its deadline, and a client that
//     speaks HTTP to a port with TLS is told so.
//
// Not stopped here: a header of up to HeaderBytesMax per connection while
// HeaderTimeout runs; the memory of net/http for connections that were handed
// over, beyond the bodies and answers that package transport counts; floods of
// valid requests with a key, which the leader's queue refuses.
package http1
