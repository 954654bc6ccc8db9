//go:build !invariants

package checking

// EveryCommand says that invariants are checked only when somebody asks.
const EveryCommand = false
