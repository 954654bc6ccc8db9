// Package seriatimpb is the generated code of the native API, version 1, for
// clients in Go: messages, client and server of transport/grpc/queues.proto. It
// owns nothing by hand. Package transport/grpc/client is easier to use.
package seriatimpb
