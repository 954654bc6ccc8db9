// Package auth decides which identity sends a request, and whether it may. [Verifier] and
// [Authorizer] are the interfaces; the packages below implement them:
//
//	sigv4   signatures
//	iam     policies
//	gate    both, with the keys and policies of the cluster
//	rate    requests a second of each account
//
// A protocol calls the Verifier once for each request, before it looks at anything else, and the
// Authorizer once action and resource are known. It also parses signature version 4 credentials,
// in the Authorization header and in presigned query strings.
//
// [AcceptAll] verifies nothing: it takes the access key id that a request claims as the caller's
// identity, and a request without one is anonymous. Without an Authorizer everything is
// permitted.
package auth
