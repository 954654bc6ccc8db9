package cluster

import (
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// verdict says how one attempt to execute a request ended. Only answered and
// unknown attempts may have had an effect (faults.md 0.1).
type verdict uint8

const (
	// answered: the outcome holds the answer.
	answered verdict = iota + 1
	// notProposed: nothing was written as this node does not lead; another
	// attempt may succeed.
	notProposed
	// overloaded: nothing was written as too much waits.
	overloaded
	// expired: nothing was written and the asker has given up.
	expired
	// outcomeUnknown: it may or may not take effect, now or later.
	outcomeUnknown
	// unsupported: nothing was written, as some node could not read it.
	unsupported
	// pressed: nothing was written, as the leader takes no such commands at
	// the moment; the outcome holds the reason.
	pressed
)

// outcome is the end of one attempt.
type outcome struct {
	verdict  verdict
	response fsm.Response
	at       Position
	reason   string // of pressed, for people
}

// receivedNothing reports whether o answers a receive without any message. A
// replay that has none left is an answer all the same: it does not wait.
func (o outcome) receivedNothing() bool {
	received, ok := o.response.Result.(queue.MessagesReceived)
	return o.verdict == answered && o.response.Err == nil && ok &&
		len(received.Messages) == 0 && !received.Replayed
}

// wire is the number of the verdict in an Answer.
func (v verdict) wire() peerpb.Outcome {
	switch v {
	case answered:
		return peerpb.Outcome_OUTCOME_ANSWERED
	case notProposed:
		return peerpb.Outcome_OUTCOME_NOT_LEADER
	case overloaded:
		return peerpb.Outcome_OUTCOME_OVERLOADED
	case expired:
		return peerpb.Outcome_OUTCOME_EXPIRED
	case unsupported:
		return peerpb.Outcome_OUTCOME_UNSUPPORTED
	case pressed:
		return peerpb.Outcome_OUTCOME_PRESSURE
	default:
		return peerpb.Outcome_OUTCOME_UNKNOWN
	}
}

// verdictOf reads a verdict off the wire; whatever it does not know is unknown.
func verdictOf(o peerpb.Outcome) verdict {
	switch o {
	case peerpb.Outcome_OUTCOME_ANSWERED:
		return answered
	case peerpb.Outcome_OUTCOME_NOT_LEADER:
		return notProposed
	case peerpb.Outcome_OUTCOME_OVERLOADED:
		return overloaded
	case peerpb.Outcome_OUTCOME_EXPIRED:
		return expired
	case peerpb.Outcome_OUTCOME_UNSUPPORTED:
		return unsupported
	case peerpb.Outcome_OUTCOME_PRESSURE:
		return pressed
	default:
		return outcomeUnknown
	}
}
