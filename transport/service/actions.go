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

// Repeat says whether a client may send a request again, perhaps to another node, if it got no
// answer. Each table of actions states it for each action.
type Repeat uint8

// The zero Repeat is invalid, so that no table can leave it out by mistake.
const (
	// SentOnce marks actions whose second request could store a message twice, undo what another
	// client did in between, or be refused because of the first.
	SentOnce Repeat = iota + 1
	// Repeatable marks actions whose second request has the outcome of the first.
	Repeatable
	// RepeatableWithID marks actions that are Repeatable if the request has an id by which the
	// queue or topic recognises it.
	RepeatableWithID
)
