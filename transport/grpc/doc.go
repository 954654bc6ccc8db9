// Package grpc is the native API: the same queues and topics as over HTTP, with streams for the
// fast paths. docs/reference/grpc.md is its manual, the .proto files its definition.
//
// Package cmd/seriatim/server gives a [Server] to the client port. Package client is for
// programs that use the API.
//
// # Design
//
// Sharing the port. All HTTP/2 on the client port is served by package http2 of ours, which
// passes the requests of content type application/grpc to ServeHTTP. The other
// way is to hand whole connections to grpc-go's own transport. It was not taken: only the
// first header block tells a connection of this API from one of SQS over HTTP/2, one
// connection may carry both, and clients of gRPC send it after the
// settings of a server that would not be chosen yet. And one stack of HTTP/2
// means that what bounds it holds here as it stands: connections, header sizes,
// deadlines, Host and Origin, TLS, the clean stop with GOAWAY.
//
// Unary calls. The library serves a call behind an http.Handler with four goroutines, and
// writes header, message and trailers separately: some 110 µs of processor time a
// call, to the 20 of a request over HTTP/1.1. So serveUnary serves the plain case of a unary call, in the
// goroutine that brings it and with one write, through the same handlers and the same
// interceptor; other codecs, compression and malformed requests stay with the library, as
// streams do, health and reflection.
//
// Backpressure. On a stream the transport of grpc-go below ServeHTTP reads a body as fast as
// it comes, into memory without bound. So [requestBody] lets it read the next
// message only when a handler asks for it; what waits is in the windows of
// HTTP/2. Bytes of a message beyond limits.FreeBytes are taken from the budget
// that all requests of the port share.
//
// Order and pipelining in SendStream and PublishStream. A node makes no promise on the order of
// commands that are submitted at the same time, and makes a command again whose
// fate is unknown. So a stream never has two commands with messages of one group
// under way; those of other groups go on, and what comes in meanwhile goes into the
// next command, up to limits.StreamEntriesMax messages of 1 MiB together: SQS's
// limit of ten entries is no rule of the log. So the rate of a stream does not fall
// with the time that a command takes; its commands grow. At most commandsMax of them
// are under way, as many small ones cost more than a few large ones. Consume
// receives and deletes as many at a time. See pipeline.
//
// Order in a session. Its messages are handed out while earlier ones are in flight, so a stream
// must not let a later one pass one that is given back, nor one that was lost on the way
// to the client; there is no visibility timeout that would bring that back. Therefore
// attempt ids in a session follow from each other: a stream that resumes another one
// makes the same receives, also those that the other one still makes while its connection
// is dead (catchUp). And an abandonment takes along what was received before it, by where
// both stand in the log (abandonInSession).
//
// Names, not URLs or ARNs, denote queues. Where a value of an attribute is an ARN
// it stays one, as both APIs show the same attributes.
package grpc

//go:generate go run -C ../../test/tools ./protogen -grpc -fast SendRequest,OutgoingMessage,SendResponse,SendResult -out transport/grpc/seriatimpb transport/grpc/queues.proto transport/grpc/topics.proto transport/grpc/messages.proto transport/grpc/sessions.proto transport/grpc/inspection.proto
