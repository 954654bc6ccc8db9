// Package native owns the tool's connection to the native API: which nodes are asked, for
// how long, and what a refusal means to somebody at a terminal.
//
// It refuses to know the commands and the protocol: the Go client of the API makes the
// calls. Package client uses it for what the SQS API has no action for.
package native
