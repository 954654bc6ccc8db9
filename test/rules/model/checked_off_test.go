//go:build !invariants

package model

// everyCommandChecked is false: package queue does not check invariants itself, and the comparison
// checks them every hundred commands.
const everyCommandChecked = false
