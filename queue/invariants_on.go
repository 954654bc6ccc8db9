//go:build invariants

package queue

// checkEveryCommand makes Apply check all invariants after every command.
const checkEveryCommand = true
