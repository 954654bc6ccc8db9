// Package policies checks access policies at random. A grammar makes policies; package iam and a
// slow evaluator that shares no code with it decide them. Package iam must accept each policy
// and decide as the evaluator does.
//
// Then typos are put into the policies. Package iam must refuse every typo, and a stored policy
// with a typo must not permit more than the policy without the mistyped statement.
//
// -seeds sets the number of policies, -seed the first one. A failure names its seed.
package policies
