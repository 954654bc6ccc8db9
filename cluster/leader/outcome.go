package leader

import (
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Position is a position in the log.
type Position struct {
	Index   uint64          // of the entry, or of the last one a read saw
	LogTime queue.Timestamp // after that entry
}

// PositionOf returns the Position of a state.
func PositionOf(at snapshot.Position) Position { return Position{Index: at.Index, LogTime: at.At} }

// Verdict tells how an attempt to execute a request ended. Only Answered and Unknown attempts may
// have had an effect (faults.md 0.1).
type Verdict uint8

const (
	// Answered: the outcome holds the answer.
	Answered Verdict = iota + 1
	// NotProposed: nothing was written because this node does not lead. Another attempt may
	// succeed.
	NotProposed
	// Overloaded: nothing was written because too many commands wait.
	Overloaded
	// Expired: nothing was written and the caller has given up.
	Expired
	// Unknown: the command may take effect, now or later.
	Unknown
	// Unsupported: nothing was written because some node could not read the command.
	Unsupported
	// UnderPressure: nothing was written because the leader refuses such commands at the moment.
	// The outcome holds the reason.
	UnderPressure
)

// Outcome is the result of one attempt.
type Outcome struct {
	Verdict  Verdict
	Response codec.Response
	At       Position
	Reason   string // of UnderPressure and Unsupported, readable text
}

// ReceivedNothing reports whether o answers a receive without a message, or the acceptance of the
// next session without a session. It is false for the answer to a repeated receive, even if the
// messages are gone.
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
