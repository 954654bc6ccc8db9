// Package seriatimpb is the generated code of the native API, version 1, for clients in Go.
// Package transport/grpc/client is easier to use.
package seriatimpb
