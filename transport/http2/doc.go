// Package http2 serves HTTP/2, with and without TLS, at a fraction of the cost of net/http's for
// small requests. A connection that does not begin with the preface goes to net/http with every
// byte of it. Requests of SQS and gRPC may share a connection.
//
// # Design
//
// net/http writes the header, the data and the trailers of an answer one after the other, each
// through two goroutines. Here an answer leaves with one write, together with those of other
// streams that are ready. A connection that fills its small input buffer gets a large one. If the
// frames of a request came together, the request is complete before its handler starts.
//
// golang.org/x/net/http2 reads and checks frames, and its hpack decodes headers into memory that the
// connection reuses. Answers use no dynamic table: a few bytes more, but no state that streams share.
//
// # Threats
//
// The port may face the internet. Attacks, and the defence against each:
//
//   - Silence. The preface and each frame, or block of headers, must be complete HeaderTimeout after
//     its first byte. The server pings a connection after pingAfter without input, and closes one
//     without requests after IdleTimeout. A body must arrive within BodyTimeout unless its handler
//     sets another deadline.
//   - Bodies that no handler reads. A client may send windowOfStream bytes of a body, and
//     windowOfConn of all bodies of its connection, before a handler reads. Handlers take bytes from
//     the budget before they read.
//   - Answers that the client does not read. A handler waits, and its bytes count against the budget,
//     until the kernel has them. After limits.WriteLimit the stream is reset, or the connection
//     closed. Acknowledgements wait, too, and no further frame is read meanwhile.
//   - Requests that are reset at once (CVE-2023-44487). A handler counts against streamsMax until it
//     has returned, even if its stream is gone.
//   - Idle frames: pings, settings, resets, empty data, frames for finished streams, unused window
//     updates, errors. More than idleFramesMax in a second end the connection, and a connection with
//     no other frames is idle. A window update wakes only the streams that can continue.
//   - Floods of requests without a key. The reading goroutine takes a turn (package unverified) before
//     it parses, and passes the turn to the handler.
//   - Large headers. More than limits.HeaderBytesMax are refused, and endless CONTINUATION frames end
//     the connection. A connection keeps little for its next request, and nothing of the last one.
//   - A request that makes this code panic. The panic is logged and counted, and closes that one
//     connection.
//
// Not stopped here: floods of valid requests with a key, which the leader's queue refuses.
package http2
