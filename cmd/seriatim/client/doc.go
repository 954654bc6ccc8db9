// Package client implements the commands that call a running server.
//
// # Design
//
// Data goes to standard output, messages go to standard error, so that you can pipe the output.
// JSON output is a contract: new fields may come, no field is renamed. The tool does not repeat a
// request to the same node, because the server already retries where that is safe. With several
// addresses it asks the next node if one cannot be reached or refuses, or if repeating the request
// is safe. Otherwise it reports the outcome as unknown.
package client
