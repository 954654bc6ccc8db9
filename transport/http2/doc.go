// Package http2 serves HTTP/2, with and without TLS, at a fraction of the cost of net/http's for
// small requests. A connection that does not begin with the preface goes to net/http with every
// byte of it. Requests of SQS and gRPC may share a connection.
//
// # Design
//
// net/http writes the header, the data and the trailers of an answer one after
// the other, each through two goroutines, and a call of gRPC consists of all three.
// Here an answer is put together first and leaves with one write; what other
// streams of the connection have to say meanwhile leaves with the next. Where several handlers
// of a connection run, the one that writes first lets those that are ready append theirs:
// a commit wakes many. A connection that fills its small buffer of input gets a
// large one, for the requests of all users of the connection. A request
// whose frames came together is complete before its handler starts, which then
// waits for nothing.
//
// Frames are read with golang.org/x/net/http2, which checks their form, and
// headers with its hpack, but into memory that the connection keeps: the library's
// own blocks of headers were half of what a request allocated. Answers use no dynamic table: a few bytes more, and no
// state that all streams would have to take turns at.
//
// # Threats
//
// The port may face the internet. Attacks, and the defence against each:
//
//   - Silence. The preface and each frame, a block of headers included, must be
//     there HeaderTimeout after their first byte. A connection of which nothing
//     was heard for pingAfter is asked whether it lives; one without requests is
//     closed after IdleTimeout. A body must be there within BodyTimeout unless its
//     handler says otherwise.
//   - Bodies that no handler reads. A client may have sent windowOfStream bytes of a
//     body, and windowOfConn of all bodies of its connection, that no handler has
//     asked for. Handlers take from the budget before they ask.
//   - Answers that the client does not read. A handler waits, and its bytes stay taken from
//     the budget, until the kernel has what it wrote; after limits.WriteLimit the
//     stream is reset, or the connection closed. Acknowledgements wait with them,
//     and no further frame is read meanwhile.
//   - Requests that are reset at once (CVE-2023-44487). A handler counts against
//     streamsMax until it has returned, whatever became of its stream.
//   - Frames that bring nothing: pings, settings, resets, empty data, what is for a stream
//     that is over, windows that no answer has used, mistakes. More than idleFramesMax in a
//     second end the connection, and a connection on which nothing else comes is idle. A
//     change of windows wakes only the streams that can then go on.
//   - Floods of requests without a key. The goroutine that reads takes a turn (package unverified)
//     before it parses, and a handler takes the turn over.
//   - Large headers. More than limits.HeaderBytesMax are refused, and endless
//     CONTINUATION frames end the connection, empty ones too. Nothing is kept for answers,
//     and what a connection keeps for its next request is small and holds nothing of the last.
//   - A request that makes this code panic. The panic is logged and counted, and
//     closes that one connection.
//
// Not stopped here: floods of valid requests with a key, which the leader's queue refuses.
package http2
