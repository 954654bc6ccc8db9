package cluster

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

// A node that took a request from a client and lost the leader's answer finds out
// by itself what became of it. The request has an id, which is in the log beside
// the command, and this node applies the log, too. Once a leader of a later term
// has confirmed an index and this node has applied everything up to it, there are
// two cases: the request was applied here, and its answer is known; or it never
// will be, since entries of the earlier term that are not in the log by then never
// get there, and entries that were proposed in one term and written in a later one
// are void (codec.Proposal). Then it can be made again, whatever it does.
//
// Nothing of this is in the replicated state: a node remembers the requests that
// are under way at it, and for no longer. It does not know what became of a request
// when it was sent a snapshot meanwhile, when the leader of the attempt still leads
// (only the connection to it broke), or when the format in force has no ids yet.
// Then the rules of retrySafe hold.

// ownRequests are the requests under way at this node. Safe for concurrent use.
type ownRequests struct {
	origin uint64 // of this process; no two have the same

	mu       sync.Mutex
	last     uint64
	underWay map[uint64]*ownRequest // by number
}

// ownRequest is one request under way.
type ownRequest struct {
	id codec.RequestID

	// Guarded by the mu of ownRequests.
	applied bool
	outcome leader.Outcome // of the command, once applied
	skipped bool           // a snapshot took the place of entries that may hold it
}

// newOwnRequests draws an origin.
func newOwnRequests(entropy io.Reader) (*ownRequests, error) {
	var drawn [8]byte
	if _, err := io.ReadFull(entropy, drawn[:]); err != nil {
		return nil, fmt.Errorf("drawing an origin for requests: %w", err)
	}
	return &ownRequests{origin: max(binary.LittleEndian.Uint64(drawn[:]), 1), underWay: make(map[uint64]*ownRequest)}, nil
}

// begin names a request.
func (o *ownRequests) begin() *ownRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	r := &ownRequest{id: codec.RequestID{Origin: o.origin, Number: o.last}}
	o.underWay[o.last] = r
	return r
}

// end forgets a request; nil is none.
func (o *ownRequests) end(r *ownRequest) {
	if r == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.underWay, r.id.Number)
}

// answered notes the answer to a command that was applied here. A receive that found
// nothing goes on waiting, so it is not answered.
func (o *ownRequests) answered(number uint64, response codec.Response, index uint64, at queue.Timestamp) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.underWay[number]
	if r == nil || r.applied {
		return
	}
	got := leader.Outcome{Verdict: leader.Answered, Response: response, At: Position{Index: index, LogTime: at}}
	if !got.ReceivedNothing() {
		r.applied, r.outcome = true, got
	}
}

// restored notes that a snapshot was restored, so that this node may have missed
// entries.
func (o *ownRequests) restored() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.underWay { // order does not matter: each is its own
		r.skipped = true
	}
}

// outcomeOf is what became of a request whose entry would have been applied by now.
func (o *ownRequests) outcomeOf(r *ownRequest) (found leader.Outcome, certain bool) {
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

// findOutcome finds out what became of an attempt of unknown outcome. It waits for
// a leader of a later term, as long as ctx lets it.
func (n *Node) findOutcome(ctx context.Context, r *request) (found leader.Outcome, certain bool) {
	if r.own == nil {
		return leader.Outcome{}, false
	}
	barrier := &request{kind: forward.ReadIndex}
	o, err := n.route(ctx, barrier)
	if err != nil || barrier.term <= r.term {
		return leader.Outcome{}, false
	}
	if err := n.waitRead(ctx, barrier, o); err != nil {
		return leader.Outcome{}, false
	}
	return n.requests.outcomeOf(r.own)
}
