//go:build invariants

package model

// everyCommandChecked: package queue checks all its invariants after every
// command of every twin, which costs ten times the command.
const everyCommandChecked = true
