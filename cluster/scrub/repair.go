package scrub

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

// Times of a repair.
const (
	askTimeout = 2 * time.Second
	// A body that could not be healed is tried again after pauseMin, and then at longer
	// intervals up to pauseMax.
	pauseMin = 50 * time.Millisecond
	pauseMax = time.Second
	// refusedFor is for how long all other nodes must have said that they have no such
	// body: one of them may just have healed it from another.
	refusedFor = 5 * time.Second
	// sayEvery is how often it is logged that bodies cannot be healed.
	sayEvery = time.Minute
)

// damage is a body that was found damaged.
type damage struct {
	located
	// refused says that all other nodes refused it in each round since; the last of them
	// had applied what is up to index when they did so in the first one.
	refused bool
	since   time.Duration
	index   uint64
	why     error // it could not be healed yet
}

// round is one turn of those bodies that are open. A node that did not answer in it is
// asked for no other.
type round struct{ silent map[string]bool }

func newRound() round { return round{map[string]bool{}} }

// repairWalks is how often the state is searched for a message with a damaged body: one
// that moves from queue to queue may be missed once.
const repairWalks = 2

// repair heals what is damaged in the segments in which readers have found damage.
func (s *Scrubber) repair(ctx context.Context) {
	waiting := s.unknown(s.options.Bodies.Damaged())
	for range repairWalks {
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

// unknown are those of some bodies that wait to be healed and whose message was not found.
func (s *Scrubber) unknown(bodies []content.Body) []content.Body {
	waiting := s.waiting()
	return slices.DeleteFunc(bodies, func(body content.Body) bool { return !waiting[body.Place()] || s.open[body.Place()] != nil })
}

// waiting are the places of all bodies that wait to be healed.
func (s *Scrubber) waiting() map[content.Place]bool {
	waiting := map[content.Place]bool{}
	for _, body := range s.options.Bodies.Damaged() {
		waiting[body.Place()] = true
	}
	return waiting
}

// healSegments heals what is damaged in the segments that some bodies are in.
func (s *Scrubber) healSegments(ctx context.Context, of []content.Body) {
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

// retry gives each open body another turn.
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
	if now := s.options.Clock.Monotonic(); len(s.open) > 0 && now-s.said > sayEvery {
		s.said = now
		for _, one := range s.open {
			s.options.Logger.Warn("damaged bodies of messages cannot be healed yet", "bodies", len(s.open), "error", one.why)
			return
		}
	}
}

var errAlone = errors.New("there is no other node that could have it")

// heal gives a damaged body its turn, and reports whether that was its last: it was
// healed, or no message has it any more, or the node has ended.
func (s *Scrubber) heal(ctx context.Context, round round, one *damage) (over bool) {
	if text, found := s.options.Bodies.InMemory(one.body); found {
		s.write(one.located, text)
		return true
	}
	has, at := s.has(one.located)
	if !has {
		s.options.Bodies.Forget(one.body)
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
		s.options.Bodies.Forget(one.body)
		return true
	case answers.alone || one.refused && at >= one.index && now-one.since > refusedFor:
		s.options.Bodies.GiveUp(one.body, one.why)
		return true
	}
	return false
}

// answers are those of the other nodes to the question for one body.
type answers struct {
	found   bool
	alone   bool   // there are no others
	refused bool   // all have refused it, each in a state in which its message can be
	index   uint64 // highest that one of these had applied
	why     error
}

// askOthers asks one node after the other for a body that this node refers to, as it has
// applied what is up to at.
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

// write writes a body anew. If that fails, the node has ended.
func (s *Scrubber) write(damaged located, text string) {
	if err := s.options.Bodies.Heal(damaged.body, text); err != nil {
		s.options.Bodies.GiveUp(damaged.body, err)
	}
}

// has reports whether the message still has the body, as of the index that is applied.
func (s *Scrubber) has(one located) (has bool, applied uint64) {
	applied = s.options.Read(func(v queue.View) {
		body, found := bodyOf(v, one.queue, one.sequence)
		has = found && body.Place() == one.body.Place()
	})
	return has, applied
}
