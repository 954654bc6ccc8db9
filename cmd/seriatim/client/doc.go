// Package client owns the command-line tool: every command that calls a running server,
// and the load generator.
//
// It speaks to a running server as any other client would: over the SQS JSON
// protocol, the SNS protocol and the admin port, and through the Go client of the
// native API for what SQS has no action for. It refuses to know how the server works: of its
// packages it imports that client, and reads the tables of actions and attributes, which say
// what may be sent again and what there is to set. Main calls Commands.
//
// # Design
//
// Data goes to standard output, words go to standard error, so that output can
// be piped. JSON output is a contract: fields are added, never renamed. The
// tool does not repeat a request to the same node: the server already retries
// everything that is safe to retry. With several endpoints (failover.go) it asks
// the next node if one heard nothing, turned the request away, or if repeating
// the request has no effect of its own; all else is reported as unknown.
//
// The load generator (bench*.go) has an HTTP client of its own: on the machine
// of the servers, what it costs is missing there, and net/http costs as much for
// a call as the server does. It is correct before it is fast: every answer is
// checked, and a run that finds a guarantee broken says so and fails.
package client
