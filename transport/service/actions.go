package service

// Effect describes what an action changes. Each table of actions states it for each action.
type Effect uint8

// The zero Effect is invalid, so that no table can leave it out by mistake.
const (
	// Reads marks actions that change nothing.
	Reads Effect = iota + 1
	// Changes marks actions that change data.
	Changes
	// Audited marks actions that change permissions or delete data for good. The audit records
	// them at every log level.
	Audited
)
