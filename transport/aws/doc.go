// Package aws is what the APIs of AWS services have in common, whatever their
// actions are: the way of a request from its bytes to an action and back.
//
// # What it owns
//
// Finding out which service, protocol and action a request is for; its caller;
// the table of actions, whose lines name the permission and the resource that an
// action needs; the one place where that resource is resolved; answers and
// errors; queue URLs and pages of lists.
//
// # What it refuses to know
//
// Any action, any rule of a queue, the cluster beyond the [Node] that takes
// commands, and how connections are served.
//
// # Who calls it
//
// cmd/seriatim/server puts a [Handler] behind the client listener with the
// [API] of each service; packages sqs and sns define theirs.
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
