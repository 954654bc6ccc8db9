// Package route executes the commands and reads of a node's clients at the leader, which may be
// another node. Its Router makes attempts until a call is answered, must not be repeated, or its
// time is over.
//
// An attempt has one of three outcomes: an answer, "not proposed", or "unknown". If nothing was
// proposed, the Router tries again. If the outcome is unknown, the Router finds it out as soon as
// there is a leader of a later term: the id of the request is in the log, which the node applies as
// well (own_requests.go). Where that is not possible, it repeats only what may be executed twice
// (retry.go), and else returns fault.ErrOutcomeUnknown. Once an attempt stayed unknown, a later
// refusal proves nothing about it, and the call ends unknown, too.
//
// The package leaves to package leader what only a leader does, to package forward the way to
// another node, and to package queue all rules.
package route
