// Package aws holds the common part of the APIs of AWS services: the way of a request from its
// bytes to an action and back. Packages sqs and sns define an [API]; a [Handler] serves them.
// [Node] is the cluster that takes commands.
//
// # Design
//
// A request passes these steps, each in one function: readRequest (protocol, body, caller, service,
// action), accept (members), resolve (resource and permission), the action, answer. Access log and
// metrics show the resource that resolve found, so they cannot differ from the policies.
//
// A waiting action ([DefineWaiting]) needs no goroutine if the connection permits that
// (http1.Suspender): the handler returns, and the rest of it runs when the action ends.
//
// Order of checks (sqs.md 1.7): caller, action, required parameters, queue lookup, values. The command
// checks the values that it carries, after the lookup of the queue.
//
// Answers carry their position in the log in the headers x-seriatim-index and x-seriatim-log-time, also
// with errors. For a read it is the position of the state.
//
// Hosts of URLs are not compared, so that clients keep their URLs after a move. [service.Scope] resolves
// accounts.
package aws
