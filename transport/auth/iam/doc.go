// Package iam decides what a caller may do, by policies in the language of AWS IAM.
//
// # What it owns
//
// The subset of the language that this server reads, matching of actions, resources,
// principals and conditions, and how the policies of a caller and of a resource are
// put together.
//
// # What it refuses to know
//
// Signatures, where policies are stored, what actions do.
//
// # Who calls it
//
// The protocols of package transport, once a request, when caller, permission and
// resource are known.
//
// # The subset
//
// Effect, Principal and NotPrincipal (* and AWS), Action and NotAction, Resource and
// NotResource with wildcards, Condition with the operators of table operators, each also
// with IfExists, and policy variables such as ${aws:username}. Condition keys are those of
// [Request.Keys]. Session, boundary and organisation policies do not exist here.
//
// # Design
//
// A document is read once and matched often: text that cannot match is found out when it
// is read, patterns are kept ready. What is not understood is on the safe side: a
// statement with an operator that is not in the table permits nothing, and if it denies,
// it denies whatever else of it matches.
package iam
