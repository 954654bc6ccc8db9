//go:build invariants

// Package checking sets how often the state checks itself: after each command with the build tag
// invariants.
package checking

// EveryCommand says that all invariants are checked after every command.
const EveryCommand = true
