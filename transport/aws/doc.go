// Package aws holds the common part of the APIs of AWS services: the way of a request from its
// bytes to an action and back. Packages sqs and sns define an [API]; a [Handler] serves them.
// [Node] is the cluster that takes commands.
//
// # Design
//
// A request passes these steps, each in one function: readRequest (protocol,
// body, caller, service, action), the line's decoder (members), resolve
// (resource; policies are enforced there when there are any, since caller,
// permission and resource are known together for the first time), the action,
// respond. Access log and metrics show what resolve found, so they and a policy
// cannot disagree about what a request was for.
//
// An action that waits ([DefineWaiting]) has no goroutine while it does, where the
// connection permits that (http1.Suspender): the handler returns, and what is left of it
// is done when the action ends.
//
// Order of checks (sqs.md 1.7): caller, action, required parameters, queue
// lookup, values. Values that a command carries are checked by the command
// itself, and the Node looks the queue up before it reports them.
//
// Every answer, refusals included, that passed the log carries its position in
// the headers x-seriatim-index and x-seriatim-log-time; an answer that was read
// carries the position the reading saw.
//
// The syntax of ARNs is that of package queue/arn, which the domain needs, too.
// Regions and hosts of URLs and ARNs are not compared: a client moved here from
// elsewhere keeps its URLs. What their accounts mean, [Scope] says.
package aws
