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
// Package gate, once a request, when caller, permission and resource are known; packages aws
// and ops, when a policy is stored or tried.
//
// # The subset
//
// Effect, Principal and NotPrincipal (*, accounts and users), Action and NotAction, Resource
// and NotResource with wildcards, Condition with the operators of table operators, each also
// with IfExists, and policy variables such as ${aws:username}. Condition keys are those of
// [Request.Keys]. Session, boundary and organisation policies do not exist here.
//
// # Design
//
// [Parse] is the one checker of policies: a member, operator, key, action, resource or
// principal that it does not understand makes the policy malformed, also where AWS would let
// it stand. [Check] is what decides whether a policy may be stored. What is stored already is
// read by [Stored], for which a malformed policy permits nothing, and denies what it may have
// been meant to deny.
//
// AWS has condition keys and principals that no request here can have, such as aws:SourceArn
// and services. Policies that were made for AWS keep them where they are on the safe side:
// they permit nothing, or deny everything.
//
// A document is read once and matched often.
package iam
