package forward

import (
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Kind is the kind of a Request.
type Kind = peerpb.RequestKind

// Kinds of requests.
const (
	Submit    = peerpb.RequestKind_REQUEST_KIND_SUBMIT
	Receive   = peerpb.RequestKind_REQUEST_KIND_RECEIVE
	ReadIndex = peerpb.RequestKind_REQUEST_KIND_READ_INDEX
	Audit     = peerpb.RequestKind_REQUEST_KIND_AUDIT

	cancelRequest = peerpb.RequestKind_REQUEST_KIND_CANCEL
)

// Request is a request that another node executes if it leads in Term.
type Request struct {
	leader.Request // without its Deadline: clocks differ, see Budget
	Kind           Kind
	Term           uint64
	Wait           time.Duration // of a Receive; negative: the queue's default
	Waited         time.Duration // part of Wait that has passed
	Budget         time.Duration // until the request expires; 0: never
	Report         *peerpb.Audit // of an Audit
}

// wire returns the message to send.
func (r Request) wire() *peerpb.Request {
	wire := &peerpb.Request{
		Kind:           r.Kind,
		Term:           r.Term,
		Command:        r.Frame,
		MinimumVersion: r.MinimumVersion,
		WaitMillis:     r.Wait.Milliseconds(),
		WaitedMillis:   uint64(r.Waited.Milliseconds()),
		RequestOrigin:  r.ID.Origin,
		RequestNumber:  r.ID.Number,
		Audit:          r.Report,
	}
	if r.Budget != 0 {
		wire.BudgetMillis = uint64(max(r.Budget.Milliseconds(), 1))
	}
	return wire
}

// requestOf converts a forwarded request. It computes the format version itself, because the other
// node may be wrong.
func requestOf(r *peerpb.Request, cmd queue.Command, deadline time.Duration) leader.Request {
	return leader.Request{
		Frame:          r.Command,
		ID:             codec.RequestID{Origin: r.RequestOrigin, Number: r.RequestNumber},
		MinimumVersion: max(r.MinimumVersion, codec.MinimumVersion(cmd)),
		Deadline:       deadline,
	}
}

// wireOutcome converts a verdict for an Answer.
func wireOutcome(v leader.Verdict) peerpb.Outcome {
	switch v {
	case leader.Answered:
		return peerpb.Outcome_OUTCOME_ANSWERED
	case leader.NotProposed:
		return peerpb.Outcome_OUTCOME_NOT_LEADER
	case leader.Overloaded:
		return peerpb.Outcome_OUTCOME_OVERLOADED
	case leader.Expired:
		return peerpb.Outcome_OUTCOME_EXPIRED
	case leader.Unsupported:
		return peerpb.Outcome_OUTCOME_UNSUPPORTED
	case leader.UnderPressure:
		return peerpb.Outcome_OUTCOME_PRESSURE
	default:
		return peerpb.Outcome_OUTCOME_UNKNOWN
	}
}

// verdictOf converts the outcome of an Answer. An undefined number is an unknown outcome.
func verdictOf(o peerpb.Outcome) leader.Verdict {
	switch o {
	case peerpb.Outcome_OUTCOME_ANSWERED:
		return leader.Answered
	case peerpb.Outcome_OUTCOME_NOT_LEADER:
		return leader.NotProposed
	case peerpb.Outcome_OUTCOME_OVERLOADED:
		return leader.Overloaded
	case peerpb.Outcome_OUTCOME_EXPIRED:
		return leader.Expired
	case peerpb.Outcome_OUTCOME_UNSUPPORTED:
		return leader.Unsupported
	case peerpb.Outcome_OUTCOME_PRESSURE:
		return leader.UnderPressure
	default:
		return leader.Unknown
	}
}
