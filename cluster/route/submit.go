package route

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Submit executes a command at the leader, which may be another node. The error is a *queue.Error if
// a rule refused the command. Otherwise it wraps ErrUnavailable, ErrOverloaded (both: nothing was
// written) or ErrOutcomeUnknown. A *queue.Error comes with the Position of the refusal if it passed
// the log.
func (rt *Router) Submit(ctx context.Context, cmd queue.Command) (Reply, error) {
	if !rt.Calls.Enter() {
		return Reply{}, ErrClosing
	}
	defer rt.Calls.Leave()
	r := &request{kind: forward.Submit, cmd: cmd, timeout: rt.node.Timeout, over: rt.limit.begin()}
	reply, err := rt.answer(ctx, r)
	rt.count(ctx, r, reply, err)
	return reply, err
}

// request is one call on its way to the leader, which may be this node.
type request struct {
	kind           forward.Kind
	cmd            queue.Command // nil for a read index
	prepared       queue.Prepared
	frame          []byte // cmd, encoded
	minimumVersion uint32
	wait           time.Duration // of a receive
	timeout        time.Duration // for the whole call, waiting included
	// over is closed when timeout has passed; nil: the context of the call ends then.
	over    <-chan struct{}
	started time.Duration   // on the monotonic clock
	since   queue.Timestamp // log time of the first attempt, or later
	own     *ownRequest     // nil: its outcome cannot be found out
	term    uint64          // of the leader of the last attempt
	remote  bool            // that leader is another node
}

// id returns the id of the request in the log.
func (r *request) id() (id codec.RequestID) {
	if r.own != nil {
		id = r.own.id
	}
	return id
}

// count counts the result of a call.
func (rt *Router) count(ctx context.Context, r *request, reply Reply, err error) {
	rt.Counts.results[resultOf(ctx, err)].Add(1)
	if err == nil {
		rt.Counts.answered(r.cmd, reply.Result)
		rt.noteHolder(ctx, r.cmd, &reply)
	} else {
		rt.Counts.refused(r.cmd, err)
	}
}

// answer checks a command and executes it at the leader.
func (rt *Router) answer(ctx context.Context, r *request) (Reply, error) {
	if reply, refused, err := rt.prepare(ctx, r); refused {
		return reply, err
	}
	defer rt.node.Requests.end(r.own)
	o, err := rt.route(ctx, r)
	return rt.reply(ctx, r, o, err)
}

// prepare brings a command into its form for the leader, or returns the answer that refuses it.
func (rt *Router) prepare(ctx context.Context, r *request) (reply Reply, refused bool, err error) {
	prepared, refusal := queue.Prepare(r.cmd)
	if refusal == nil {
		refusal = rt.node.Check(r.cmd)
	}
	if refusal != nil {
		limited, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		reply, err = rt.refuse(limited, r.cmd, refusal)
		return reply, true, err
	}
	if prepared.Command, err = rt.node.Seal(ctx, prepared.Command, r.timeout); err != nil {
		return Reply{}, true, err
	}
	r.prepared, r.cmd = prepared, prepared.Command
	frame, err := codec.AppendCommand(nil, r.cmd)
	if err != nil {
		return Reply{}, true, fmt.Errorf("encoding a command: %w", err)
	}
	r.frame, r.minimumVersion = withOperation(ctx, frame), codec.MinimumVersion(r.cmd)
	r.own = rt.node.Requests.begin()
	return Reply{}, false, nil
}

// reply makes the answer of a call from its outcome or error.
func (rt *Router) reply(ctx context.Context, r *request, o leader.Outcome, err error) (Reply, error) {
	if err == nil {
		o, err = rt.withBodies(ctx, r, o)
	}
	switch {
	case err != nil:
		return Reply{}, err
	case o.Response.Err != nil:
		return Reply{Position: o.At}, o.Response.Err
	default:
		return Reply{Result: r.prepared.Answer(o.Response.Result), Position: o.At, Repeated: r.repeated()}, nil
	}
}

// refuse answers a command that is wrong in itself, without the log. An unknown queue comes before
// wrong values (sqs.md 1.7), so this needs a read. A bound that is a setting of the cluster needs
// one, too.
func (rt *Router) refuse(ctx context.Context, cmd queue.Command, refusal *queue.Error) (Reply, error) {
	if !queue.RefusedByState(cmd) {
		return Reply{}, refusal
	}
	index, err := rt.ReadBarrier(ctx)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Position: leader.Position{Index: index}}
	rt.node.Replica.Read(func(v queue.View) {
		reply.Result, refusal = v.Refuse(cmd, refusal)
		reply.Position.LogTime = v.Now()
	})
	if refusal != nil {
		return Reply{}, refusal
	}
	return reply, nil
}

const (
	retryPauseMin = 5 * time.Millisecond
	retryPauseMax = 200 * time.Millisecond
)

// routing is the state of a call between its attempts.
type routing struct {
	changed leaderChange  // from before the attempt
	unknown bool          // an earlier attempt may have taken effect
	pause   time.Duration // before the next one
}

// beginRoute begins the time of a call.
func (rt *Router) beginRoute(r *request) routing {
	r.started, r.since = rt.node.Monotonic(), rt.node.Replica.LogTime()
	return routing{pause: retryPauseMin}
}

// route finds the leader and executes the request there. It repeats that until the request is
// answered, must not be repeated, or ctx ends (decision 10).
func (rt *Router) route(ctx context.Context, r *request) (leader.Outcome, error) {
	way := rt.beginRoute(r)
	for {
		way.changed = rt.leaderMayChange()
		o := rt.attempt(ctx, r)
		if r.over != nil && o.Verdict != leader.Answered {
			var cancel context.CancelFunc
			ctx, cancel = rt.limited(ctx, r)
			defer cancel() // of the whole call: over is nil now
		}
		if o, ended, err := rt.decide(ctx, r, &way, o); ended {
			return o, err
		}
	}
}

// decide handles the outcome of an attempt: the call ends, or makes another attempt after a pause.
func (rt *Router) decide(ctx context.Context, r *request, way *routing, o leader.Outcome) (_ leader.Outcome, ended bool, err error) {
	if o.Verdict == leader.Unknown {
		if found, certain := rt.findOutcome(ctx, r); certain {
			o, way.unknown = found, false // the outcome found is that of all attempts so far
		}
	}
	switch o.Verdict {
	case leader.Answered:
		if way.unknown && rt.provesNothing(r, o) {
			return leader.Outcome{}, true, fault.ErrOutcomeUnknown
		}
		return o, true, nil
	case leader.Unknown:
		way.unknown = way.unknown || r.kind != forward.ReadIndex
		if way.unknown && (!rt.retrySafe(ctx, r) || r.repeat() != nil) {
			return leader.Outcome{}, true, giveUp(ctx, true, nil)
		}
	case leader.UnderPressure:
		return leader.Outcome{}, true, giveUp(ctx, way.unknown, &PressureError{Reason: o.Reason})
	case leader.Overloaded:
		rt.Counts.Overloads.Add(1)
		return leader.Outcome{}, true, giveUp(ctx, way.unknown, fault.ErrOverloaded)
	case leader.Unsupported:
		return leader.Outcome{}, true, giveUp(ctx, way.unknown, rt.upgradeNeeded(r, o.Reason))
	case leader.NotProposed, leader.Expired:
	}
	moved, again := rt.pause(ctx, way.changed, way.pause)
	if !again {
		return leader.Outcome{}, true, giveUp(ctx, way.unknown, fault.ErrUnavailable)
	}
	if way.pause = min(2*way.pause, retryPauseMax); moved {
		way.pause = retryPauseMin // a new leader serves a moment after it is known
	}
	rt.Counts.Retries.Add(1)
	return leader.Outcome{}, false, nil
}

// limited returns a context for a call that was not answered at once. It ends with the time of the
// call.
func (rt *Router) limited(ctx context.Context, r *request) (context.Context, context.CancelFunc) {
	left := r.timeout - (rt.node.Monotonic() - r.started)
	select {
	case <-r.over:
		left = 0
	default:
	}
	r.over = nil
	return context.WithTimeout(ctx, left)
}

// giveUp returns the error of a call that ends without an answer. After an unknown attempt the
// outcome stays unknown.
func giveUp(ctx context.Context, unknown bool, err error) error {
	if unknown {
		err = fault.ErrOutcomeUnknown
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: %w", err, ended)
	}
	return err
}

// attempt executes a request once, here or at the leader.
func (rt *Router) attempt(ctx context.Context, r *request) leader.Outcome {
	t, leaderID := rt.leaderFor(r)
	switch {
	case t != nil && r.kind == forward.ReadIndex:
		return t.ReadIndex(ctx)
	case t != nil:
		return t.Submit(ctx, r.proposed())
	case leaderID != "":
		return rt.node.Link(leaderID).Call(ctx, rt.forwarded(r))
	default:
		return leader.Outcome{Verdict: leader.NotProposed}
	}
}

// leaderFor returns the leader for an attempt: this node's term, or the id of another node, or
// neither if none is known.
func (rt *Router) leaderFor(r *request) (t *leader.Term, other string) {
	if rt.node.Closing.Err() != nil {
		return nil, ""
	}
	t, known := rt.node.Term(), rt.node.Group.Leadership()
	switch {
	case t != nil:
		r.term, r.remote = t.Number(), false
		return t, ""
	case known.Self || known.LeaderID == rt.node.NodeID:
		return nil, ""
	case known.LeaderID != "":
		rt.Counts.Forwarded.Add(1)
		r.term, r.remote = known.Term, true
	}
	return nil, known.LeaderID
}

// proposed returns the request that the leader may write into the log.
func (r *request) proposed() leader.Request {
	return leader.Request{Frame: r.frame, ID: r.id(), MinimumVersion: r.minimumVersion, Over: r.over}
}

// forwarded returns the request in its form for another node.
func (rt *Router) forwarded(r *request) forward.Request {
	elapsed := rt.node.Monotonic() - r.started
	f := forward.Request{Request: r.proposed(), Kind: r.kind, Term: r.term, Wait: r.wait, Waited: elapsed}
	if r.timeout > 0 {
		f.Budget = max(r.timeout-elapsed, time.Millisecond)
	}
	return f
}

// pause waits before the next attempt. A change of leadership (moved) ends the pause. again reports
// whether to make another attempt.
func (rt *Router) pause(ctx context.Context, changed leaderChange, pause time.Duration) (moved, again bool) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, false
	case <-rt.node.Closing.Done():
		return false, false
	case <-changed.leadership:
		moved = true
	case <-changed.term:
		moved = true
	case <-timer.C:
	}
	return moved, ctx.Err() == nil
}

// resultOf classifies the result of a call for the metrics.
func resultOf(ctx context.Context, err error) callResult {
	if err == nil {
		return resultOK
	}
	var refusal *queue.Error // allocates, so only after an error
	switch {
	case errors.As(err, &refusal):
		return resultRefused
	case errors.Is(ctx.Err(), context.Canceled):
		return resultCancelled
	case errors.Is(err, fault.ErrOutcomeUnknown):
		return resultUnknown
	case errors.Is(err, fault.ErrOverloaded):
		return resultOverloaded
	default:
		return resultUnavailable
	}
}
