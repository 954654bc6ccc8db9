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
// [Parse] refuses a policy with an unknown member, operator, key, action, resource or principal, also where
// AWS accepts it. [Check] decides whether a policy may be stored. [Stored] reads a stored policy: if it is
// malformed, it permits nothing, and may deny more than intended.
//
// AWS has condition keys and principals that no request here has, such as aws:SourceArn and services. A
// policy may have them where they are safe: where they permit nothing, or deny everything.
package iam
