//go:build invariants

package checking

// EveryCommand says that all invariants are checked after every command.
const EveryCommand = true
