package scrub

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// Times of healing.
const (
	askTimeout = 2 * time.Second
	// An open body is retried after pauseMin, and then at growing intervals up to pauseMax.
	pauseMin = 50 * time.Millisecond
	pauseMax = time.Second
	// refusedFor is the time during which all other nodes must refuse a body: one of them may be
	// healing it from another.
	refusedFor = 5 * time.Second
	// warnInterval separates warnings about open bodies.
	warnInterval = time.Minute
)

// damage is a damaged body.
type damage struct {
	located located
	// refused: all other nodes refused the body in each round since then; index is the highest
	// entry that they had applied in the first one.
	refused bool
	since   time.Duration
	index   uint64
	why     error // the reason why it is not healed yet
}

// round is one attempt for all open bodies. A node that does not answer is not asked again in it.
type round struct{ silent map[string]bool }

func newRound() round { return round{map[string]bool{}} }

// healWalks bounds the walks for a damaged body: a walk may miss a message that moves between
// queues.
const healWalks = 2

// healFound heals all damage in the segments in which readers found damage.
func (s *Scrubber) healFound(ctx context.Context) {
	waiting := s.unknown(s.options.Bodies.Damaged())
	for range healWalks {
		if len(waiting) == 0 {
			return
		}
		s.healSegments(ctx, waiting)
		if ctx.Err() != nil {
			return
		}
		waiting = s.unknown(waiting)
	}
	for _, body := range waiting {
		s.options.Bodies.Forget(body)
	}
}

// unknown returns the waiting bodies whose message was not found yet.
func (s *Scrubber) unknown(bodies []message.Body) []message.Body {
	waiting := s.waiting()
	return slices.DeleteFunc(bodies, func(body message.Body) bool { return !waiting[body.Place()] || s.open[body.Place()] != nil })
}

// waiting returns the places of all bodies that wait to be healed.
func (s *Scrubber) waiting() map[message.Place]bool {
	waiting := map[message.Place]bool{}
	for _, body := range s.options.Bodies.Damaged() {
		waiting[body.Place()] = true
	}
	return waiting
}

// healSegments heals all damage in the segments of some bodies.
func (s *Scrubber) healSegments(ctx context.Context, of []message.Body) {
	segments := map[uint32]bool{}
	for _, body := range of {
		segments[body.Place().Segment] = true
	}
	var at walk
	round := newRound()
	for more := true; more && ctx.Err() == nil; {
		var page, inside []located
		page, more = s.page(&at)
		for _, one := range page {
			if segments[one.body.Place().Segment] {
				inside = append(inside, one)
			}
		}
		s.check(ctx, round, inside)
	}
}

// retry tries to heal each open body.
func (s *Scrubber) retry(ctx context.Context) {
	waiting, round := s.waiting(), newRound()
	for place, one := range s.open {
		if ctx.Err() != nil {
			return
		}
		if !waiting[place] || s.heal(ctx, round, one) {
			delete(s.open, place)
		}
	}
	if now := s.options.Clock.Monotonic(); len(s.open) > 0 && now-s.logged > warnInterval {
		s.logged = now
		for _, one := range s.open {
			s.options.Logger.Warn("damaged message bodies cannot be healed yet", "bodies", len(s.open), "error", one.why)
			return
		}
	}
}

var errAlone = errors.New("there is no other node to fetch it from")

// heal tries to heal a damaged body. It returns true if the body is healed or not needed, or the
// node ends.
func (s *Scrubber) heal(ctx context.Context, round round, one *damage) (over bool) {
	if text, found := s.options.Bodies.InMemory(one.located.body); found {
		s.write(one.located, text)
		return true
	}
	has, at := s.has(one.located)
	if !has {
		s.options.Bodies.Forget(one.located.body)
		return true
	}
	text, answers := s.askOthers(ctx, round, one.located, at)
	switch {
	case answers.found:
		s.write(one.located, text)
		return true
	case ctx.Err() != nil:
		return false
	}
	now := s.options.Clock.Monotonic()
	switch {
	case !answers.refused:
		one.refused = false
	case !one.refused:
		one.refused, one.since, one.index = true, now, answers.index
	}
	one.why = answers.why
	has, at = s.has(one.located)
	switch {
	case !has:
		s.options.Bodies.Forget(one.located.body)
		return true
	case answers.alone || one.refused && at >= one.index && now-one.since > refusedFor:
		s.options.Bodies.GiveUp(one.located.body, one.why)
		return true
	}
	return false
}

// answers combine the answers of the other nodes for one body.
type answers struct {
	found   bool
	alone   bool   // there are no other nodes
	refused bool   // all refused it, in states that must have its message
	index   uint64 // the highest entry that they had applied
	why     error
}

// askOthers asks the other nodes, one after another, for a body that this node has at entry at.
func (s *Scrubber) askOthers(ctx context.Context, round round, wanted located, at uint64) (text string, a answers) {
	others := s.options.Others()
	if len(others) == 0 {
		return "", answers{alone: true, why: errAlone}
	}
	a.refused = true
	for _, node := range others {
		if round.silent[node] {
			a.refused = false
			continue
		}
		text, err := s.ask(ctx, node, wanted)
		if err == nil {
			return text, answers{found: true}
		}
		a.why = errors.Join(a.why, err)
		var refusal *refusal
		switch {
		case !errors.As(err, &refusal):
			a.refused = false
			round.silent[node] = !errors.Is(err, errWrong)
		case refusal.applied < at:
			a.refused = false // it may not have the message yet
		default:
			a.index = max(a.index, refusal.applied)
		}
	}
	return "", a
}

// write rewrites a body. A failure ends the node.
func (s *Scrubber) write(damaged located, text string) {
	if err := s.options.Bodies.Heal(damaged.body, text); err != nil {
		s.options.Bodies.GiveUp(damaged.body, err)
	}
}

// has reports whether the message still has the body, and the index of the state.
func (s *Scrubber) has(one located) (has bool, applied uint64) {
	applied = s.options.Read(func(v queue.View) {
		body, found := bodyOf(v, one.queue, one.sequence)
		has = found && body.Place() == one.body.Place()
	})
	return has, applied
}
