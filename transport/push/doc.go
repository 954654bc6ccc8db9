// Package push posts what topics deliver to subscribers on the web.
//
// # What it owns
//
// An HTTP client with a bound on everything: the time of a request, the length of its
// answer, the connections that are kept. And the rule which addresses it connects to:
// none of the machine itself, of its links, or that lead to the metadata of a cloud,
// unless the operator allows them. Whoever may subscribe could otherwise have the server
// send requests where only the server gets.
//
// # What it refuses to know
//
// Topics and what is posted, retries, and which answers are good ones.
//
// # Who calls it
//
// The leader's outbox runner, by the interface that package environment declares;
// cmd/seriatim/server makes the one Poster of a node.
//
// # Design
//
// The address is checked when the connection is made, after names were resolved, so that
// a name cannot mean one address when it is checked and another when it is used.
// Redirects are answers like others and never followed, as SNS does. No proxy is taken
// from the environment of the process: it would connect on behalf of the server.
package push
