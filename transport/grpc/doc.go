// Package grpc serves the native API: the same queues and topics as over HTTP, with streams for
// high rates. docs/reference/grpc.md is the manual, the .proto files are the definition. Package
// client is the Go client.
//
// # Design
//
// Sharing the port. Package http2 serves all HTTP/2 on the client port and passes requests of
// content type application/grpc to ServeHTTP. One connection may carry this API and SQS, and all
// bounds of http2 apply: connections, header sizes, deadlines, Host and Origin, TLS, GOAWAY.
//
// Unary calls. Behind an http.Handler, grpc-go takes four goroutines and three writes for a call:
// several times the cost of a request over HTTP/1.1. serveUnary serves plain unary calls in the
// goroutine of the request and with one write, through the same handlers and interceptor. Other
// codecs, malformed requests, streams and reflection stay with the library.
//
// Backpressure. grpc-go below ServeHTTP reads a body into memory as fast as it comes.
// [requestBody] lets it read the next message when a handler asks for it. The rest stays in the
// windows of HTTP/2. Bytes of a message beyond limits.FreeBytes count against the port's budget.
//
// Order in SendStream and PublishStream. A node executes concurrent commands in any order, and
// repeats a command with an unknown outcome. So a stream has at most one command with messages of
// a group in progress. Messages that arrive meanwhile form the next command, of up to
// limits.StreamEntriesMax messages and 1 MiB. When commands are slow they grow, and the rate
// holds. See pipeline.
//
// Order in a session. A session delivers messages while earlier ones are in flight. A message that
// is abandoned, or lost on its way to the client, must come before the later ones. Attempt ids in
// a session are therefore a series, so that a stream that resumes another repeats its receives
// (prepareReceive). An abandonment includes the messages received after it (abandonInSession).
//
// Requests name queues by name, not by URL or ARN. Attributes whose values are ARNs have the same
// values as in SQS.
package grpc

//go:generate go run -C ../../test/tools ./protogen -grpc -fast SendRequest,OutgoingMessage,SendResponse,SendResult -out transport/grpc/seriatimpb transport/grpc/queues.proto transport/grpc/topics.proto transport/grpc/messages.proto transport/grpc/sessions.proto transport/grpc/inspection.proto transport/grpc/operations.proto
