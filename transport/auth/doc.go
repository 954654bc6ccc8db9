// Package auth decides who a request comes from.
//
// # What it owns
//
// The [Verifier] seam and the parsing of signature version 4 credentials, in
// the Authorization header and in presigned query strings.
//
// # What it refuses to know
//
// Actions, queues, wire protocols, the cluster.
//
// # Who calls it
//
// Package transport/sqs, once per request, before anything else is looked at.
//
// # Design
//
// [AcceptAll] verifies nothing: it takes the access key id a request claims as
// the caller's identity, and a request without one is anonymous. Verification
// of signatures is another Verifier, so that no caller changes when it comes;
// for it the interface already passes the hash of the body, computed only when
// asked for.
package auth
