package route

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// A node that loses the leader's answer to a request of a client finds out the outcome by itself. The
// id of the request is in the log beside the command, and this node applies the log, too. It waits
// until a leader of a later term has confirmed an index, and until everything up to that index is
// applied here. Then there are two cases:
//
//   - The request was applied here, so its answer is known.
//   - The request will never be applied. Entries of the earlier term that are not in the log by then
//     never get there. Entries that were proposed in one term and written in a later one are void
//     (codec.Proposal). Then the request can be repeated, whatever it does.
//
// Nothing of this is in the replicated state: a node remembers its requests only while they are in
// progress. The outcome stays unknown if the node received a snapshot meanwhile, or if the leader of
// the attempt still leads (only the connection to it broke). Then the rules of retrySafe apply.

// Requests are the requests in progress at this node. Safe for concurrent use.
type Requests struct {
	// Origin is a random number of this process, in the ids of its requests.
	Origin uint64

	mu         sync.Mutex
	last       uint64
	inProgress map[uint64]*ownRequest // by number
}

// ownRequest is one request in progress.
type ownRequest struct {
	id codec.RequestID

	// Guarded by the mu of Requests.
	applied bool
	outcome leader.Outcome // of the command, once applied
	skipped bool           // a snapshot replaced entries that may contain it
}

// NewRequests draws an origin.
func NewRequests(entropy io.Reader) (*Requests, error) {
	var drawn [8]byte
	if _, err := io.ReadFull(entropy, drawn[:]); err != nil {
		return nil, fmt.Errorf("drawing an origin for requests: %w", err)
	}
	return &Requests{Origin: max(binary.LittleEndian.Uint64(drawn[:]), 1), inProgress: make(map[uint64]*ownRequest)}, nil
}

// begin returns a request with a new id.
func (o *Requests) begin() *ownRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	r := &ownRequest{id: codec.RequestID{Origin: o.Origin, Number: o.last}}
	o.inProgress[o.last] = r
	return r
}

// end deletes a request; nil is none.
func (o *Requests) end(r *ownRequest) {
	if r == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.inProgress, r.id.Number)
}

// Answered notes the answer to a command that was applied here. A receive that found nothing still
// waits, so it has no answer.
func (o *Requests) Answered(number uint64, response codec.Response, index uint64, at queue.Timestamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.inProgress[number]
	if r == nil || r.applied {
		return
	}
	got := leader.Outcome{Verdict: leader.Answered, Response: response, At: leader.Position{Index: index, LogTime: at}}
	if !got.ReceivedNothing() {
		r.applied, r.outcome = true, got
	}
}

// Restored notes that a snapshot was restored, so this node may have missed entries.
func (o *Requests) Restored() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.inProgress { // in any order
		r.skipped = true
	}
}

// outcomeOf returns the outcome of a request whose entry would have been applied by now.
func (o *Requests) outcomeOf(r *ownRequest) (found leader.Outcome, certain bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case r.applied:
		return r.outcome, true
	case r.skipped:
		return leader.Outcome{}, false
	default:
		return leader.Outcome{Verdict: leader.NotProposed}, true
	}
}

// findOutcome finds out the outcome of an unknown attempt. It waits for a leader of a later term
// until ctx ends.
func (rt *Router) findOutcome(ctx context.Context, r *request) (found leader.Outcome, certain bool) {
	if r.own == nil {
		return leader.Outcome{}, false
	}
	barrier := &request{kind: forward.ReadIndex}
	o, err := rt.route(ctx, barrier)
	if err != nil || barrier.term <= r.term {
		return leader.Outcome{}, false
	}
	if err := rt.waitRead(ctx, barrier, o); err != nil {
		return leader.Outcome{}, false
	}
	return rt.node.Requests.outcomeOf(r.own)
}
