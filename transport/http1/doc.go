// Package http1 serves plain POST requests over HTTP/1.1, with and without TLS, at a fraction of
// the cost of net/http. A connection with any other request moves to net/http, with every byte of
// that request.
//
// # Design
//
// Nearly all requests of SQS clients are plain POSTs. net/http was the largest single cost of a
// small one. Here a request costs about half, mostly one read and one write.
//
// This package serves a request only if each line has exactly one meaning: the method POST, a path
// without escapes and query, a Host, one Content-Length, at most 64 headers of ordinary characters,
// and none that changes how the body or the connection is read. FuzzHTTP1 checks with arbitrary
// bytes that net/http reads the same, and that it gets every byte of other requests.
//
// A handler that waits may return and answer later (suspend.go). Meanwhile the connection has no
// goroutine and no buffer, which would be most of the memory of a waiting consumer.
//
// # Threats
//
// The port may face the internet. Attacks, and the defence against each:
//
//   - Silence. The first byte of a request and the end of its header must each arrive within
//     HeaderTimeout, the TLS handshake included. A body must arrive within BodyTimeout, and an
//     answer must be read within WriteTimeout. Sending a little at a time extends none of them.
//     Only between two requests may a connection be silent for IdleTimeout.
//   - Large requests, half sent. Buffers grow with the bytes that have arrived, to at most four
//     times as much, never with an announced length. Beyond FreeBytes, buffers and answers count
//     against a budget that all connections share (package budget). When the budget is used up, a
//     request waits a few seconds. Then its body is dropped, and the handler answers with a
//     retryable error. While the budget is scarce, slow clients get less time.
//   - Answers that the client does not read. They count against the same budget until the kernel
//     has them or WriteTimeout ends.
//   - Many or large headers. net/http serves more than HeaderBytesMax or headersMax. No part of a
//     header outlives its request.
//   - Two readings of one request (smuggling): both a length and an encoding, two lengths, bare
//     line feeds, folded lines, unusual white space. net/http refuses all of them. An incomplete
//     body closes the connection, so that no remaining input is read as a request.
//   - Split answers. A line end in the value of a header becomes a blank.
//   - A request that makes this code panic. The panic is logged and counted, and closes that one
//     connection.
//   - Floods of requests without a key, pipelined or not. They take turns (package unverified).
//   - Slow or false TLS. The handshake has a deadline, and a client that speaks HTTP to a port with
//     TLS gets an error.
//
// Not stopped here: a header of up to HeaderBytesMax for each connection during HeaderTimeout; the
// memory of net/http beyond the bodies and answers that package transport counts; floods of valid
// requests with a key, which the leader's queue refuses.
package http1
