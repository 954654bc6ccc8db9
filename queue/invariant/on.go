//go:build invariants

package invariant

const tagged = true
