// Package policies checks access policies at random: policies are made from a grammar, and
// decided by package iam and by a slow evaluator that shares no code with it. Then typos are
// put into them.
//
// # What it proves
//
// Package iam accepts every policy of the grammar and decides requests as the evaluator does.
// It refuses every typo, and a policy with one that is stored nevertheless never permits what
// the policy without the mistyped statement would not.
//
// # What it refuses to know
//
// Where policies are stored, and how callers prove who they are.
//
// # Who calls it
//
// go test: -seeds says how many policies, -seed with which to begin. A failure names its seed.
package policies
