// Package auth describes callers and decides what they may do. It knows no HTTP. [Authorizer] is the
// interface; the packages below verify signatures and decide by policies:
//
//	sigv4   signatures of HTTP requests
//	sas     shared access signatures of Azure Service Bus
//	iam     policies
//	gate    all of them, with the keys and policies of the cluster
//	rate    requests per second of each account
//
// A protocol verifies each request before it looks at anything else, and calls the Authorizer once
// action and resource are known. Without an Authorizer everything is permitted.
package auth
