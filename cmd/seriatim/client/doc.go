// Package client implements the commands that call a running server.
//
// # Design
//
// Data goes to standard output, words go to standard error, so that output can
// be piped. JSON output is a contract: fields are added, never renamed. The
// tool does not repeat a request to the same node: the server already retries
// everything that is safe to retry. With several endpoints (failover.go) it asks
// the next node if one heard nothing, turned the request away, or if repeating
// the request has no effect of its own; all else is reported as unknown.
package client
