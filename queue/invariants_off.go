//go:build !invariants

package queue

const checkEveryCommand = false
