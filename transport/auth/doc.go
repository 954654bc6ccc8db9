// Package auth decides who a request comes from, and what they may do.
//
// # What it owns
//
// The seams [Verifier] and [Authorizer], who an [Identity] is, and the parsing of signature
// version 4 credentials, in the Authorization header and in presigned query strings.
// The packages below it do the work:
//
//	sigv4   signatures
//	iam     policies
//	gate    both, with the keys and policies of the cluster
//	rate    requests a second of each account
//
// # What it refuses to know
//
// Actions, queues, wire protocols, the cluster.
//
// # Who calls it
//
// The protocols of package transport: the Verifier once per request, before anything else
// is looked at, and the Authorizer as soon as action and resource are known.
//
// # Design
//
// [AcceptAll] verifies nothing: it takes the access key id a request claims as
// the caller's identity, and a request without one is anonymous. Without an
// Authorizer everybody may do everything.
package auth
