package forward

import (
	"slices"
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

// outcomes holds the outcome of an Answer for each verdict.
var outcomes = [...]peerpb.Outcome{
	leader.Answered:      peerpb.Outcome_OUTCOME_ANSWERED,
	leader.NotProposed:   peerpb.Outcome_OUTCOME_NOT_LEADER,
	leader.Overloaded:    peerpb.Outcome_OUTCOME_OVERLOADED,
	leader.Expired:       peerpb.Outcome_OUTCOME_EXPIRED,
	leader.Unknown:       peerpb.Outcome_OUTCOME_UNKNOWN,
	leader.Unsupported:   peerpb.Outcome_OUTCOME_UNSUPPORTED,
	leader.UnderPressure: peerpb.Outcome_OUTCOME_PRESSURE,
}

// verdictOf converts the outcome of an Answer. An undefined number is an unknown outcome.
func verdictOf(o peerpb.Outcome) leader.Verdict {
	if v := slices.Index(outcomes[:], o); v > 0 {
		return leader.Verdict(v)
	}
	return leader.Unknown
}
