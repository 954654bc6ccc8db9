// Package iam evaluates policies in the language of AWS IAM: it matches actions, resources,
// principals and conditions, and combines the policies of a caller and of a resource.
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
