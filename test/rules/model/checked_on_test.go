//go:build invariants

package model

// everyCommandChecked is true: package queue checks all invariants after every command of every
// twin, which takes ten times as long as the command.
const everyCommandChecked = true
