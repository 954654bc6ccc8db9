package leader

import (
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Position is a place in the log.
type Position struct {
	Index   uint64          // of the entry, or of the last one a read saw
	LogTime queue.Timestamp // after that entry
}

// PositionOf is the Position of a state.
func PositionOf(at snapshot.Position) Position { return Position{Index: at.Index, LogTime: at.At} }

// Verdict says how one attempt to execute a request ended. Only Answered and
// Unknown attempts may have had an effect (faults.md 0.1).
type Verdict uint8

const (
	// Answered says that the outcome holds the answer.
	Answered Verdict = iota + 1
	// NotProposed says that nothing was written as this node does not lead; another
	// attempt may succeed.
	NotProposed
	// Overloaded says that nothing was written as too much waits.
	Overloaded
	// Expired says that nothing was written and the asker has given up.
	Expired
	// Unknown says that it may or may not take effect, now or later.
	Unknown
	// Unsupported says that nothing was written, as some node could not read it.
	Unsupported
	// UnderPressure says that nothing was written, as the leader takes no such
	// commands at the moment; the outcome holds the reason.
	UnderPressure
)

// Outcome is the end of one attempt.
type Outcome struct {
	Verdict  Verdict
	Response codec.Response
	At       Position
	Reason   string // of UnderPressure and Unsupported, for people
}

// ReceivedNothing reports whether o answers a receive without any message, or the
// acceptance of the next session without a session. A replay that has no message left is
// an answer all the same: it does not wait.
func (o Outcome) ReceivedNothing() bool {
	if o.Verdict != Answered || o.Response.Err != nil {
		return false
	}
	switch result := o.Response.Result.(type) {
	case queue.MessagesReceived:
		return len(result.Messages) == 0 && !result.Replayed
	case queue.SessionLocked:
		return result.SessionID == ""
	default:
		return false
	}
}
