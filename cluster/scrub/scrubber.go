package scrub

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

// Options are what a Scrubber works with.
type Options struct {
	Bodies  *bodies.Store
	Read    func(read func(queue.View)) // the present state
	Others  func() []string             // members but this node
	Network *peernet.Network
	Group   uint32
	Clock   environment.Clock
	// BytesPerSecond is the rate at which bodies are read from disk to see whether they
	// are sound; zero: only what readers find damaged is healed.
	BytesPerSecond int64
	// Interval is the time from the end of one walk over all bodies to the next.
	Interval time.Duration
}

// Scrubber checks and heals the bodies of one node. Made by New. Run and Serve each take
// one goroutine; the other methods are safe for concurrent use.
type Scrubber struct {
	options Options
	found   wakeup.Signal // there may be damaged bodies
}

// New returns a Scrubber that is told from now on of what readers find damaged.
func New(options Options) *Scrubber {
	s := &Scrubber{options: options, found: wakeup.NewSignal()}
	options.Bodies.HealWith(s.found.Notify)
	return s
}

// Times of a repair.
const (
	askTimeout = 2 * time.Second
	pauseMin   = 50 * time.Millisecond
	pauseMax   = time.Second
	// refusedFor is how long all other nodes must have said that they have no such body:
	// one may be a moment behind.
	refusedFor = 5 * time.Second
	// unreachableFor is how long to wait for nodes that cannot be asked.
	unreachableFor = time.Minute
)

const (
	// pieceBytes are read from disk between two pauses.
	pieceBytes = 256 << 10
	// pageBytes is what it counts for to look at a page of messages.
	pageBytes = 4 << 10
)

// Run checks and heals until ctx ends.
func (s *Scrubber) Run(ctx context.Context) {
	var at walk
	for pause := time.Duration(0); ; {
		var due <-chan time.Time // never, if no rate is set
		if s.options.BytesPerSecond > 0 {
			due = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.found:
			s.repair(ctx)
		case <-due:
			pause = s.piece(ctx, &at)
		}
	}
}

// piece checks the next bodies, and returns how long to wait before the ones after them.
func (s *Scrubber) piece(ctx context.Context, at *walk) (pause time.Duration) {
	bytes := int64(0)
	for bytes < pieceBytes && ctx.Err() == nil {
		page, more := s.page(at)
		bytes += pageBytes
		for _, one := range page {
			bytes += int64(one.body.Len())
		}
		s.check(ctx, page)
		if !more {
			pause = s.options.Interval
			break
		}
	}
	return pause + time.Duration(float64(bytes)/float64(s.options.BytesPerSecond)*float64(time.Second))
}

func (s *Scrubber) page(at *walk) (page []located, more bool) {
	s.options.Read(func(v queue.View) { page, more = at.page(v) })
	return page, more
}

// check heals what is damaged of some bodies.
func (s *Scrubber) check(ctx context.Context, page []located) {
	if len(page) == 0 {
		return
	}
	list := make([]content.Body, len(page))
	owners := make(map[content.Place]located, len(page))
	for i, one := range page {
		list[i] = one.body
		owners[one.body.Place()] = one
	}
	for _, damaged := range s.options.Bodies.Check(list) {
		s.heal(ctx, owners[damaged.Place()])
	}
}

// repairWalks is how often the state is searched for a message with a damaged body: one
// that moves from queue to queue may be missed once.
const repairWalks = 2

// repair heals what is damaged in the segments in which readers have found damage.
func (s *Scrubber) repair(ctx context.Context) {
	waiting := s.options.Bodies.Damaged()
	for range repairWalks {
		if len(waiting) == 0 {
			return
		}
		s.healSegments(ctx, waiting)
		if ctx.Err() != nil {
			return
		}
		waiting = s.stillDamaged(waiting)
	}
	for _, body := range waiting {
		s.options.Bodies.Forget(body)
	}
}

// healSegments heals what is damaged in the segments that some bodies are in.
func (s *Scrubber) healSegments(ctx context.Context, of []content.Body) {
	segments := map[uint32]bool{}
	for _, body := range of {
		segments[body.Place().Segment] = true
	}
	var at walk
	for more := true; more && ctx.Err() == nil; {
		var page, inside []located
		page, more = s.page(&at)
		for _, one := range page {
			if segments[one.body.Place().Segment] {
				inside = append(inside, one)
			}
		}
		s.check(ctx, inside)
	}
}

// stillDamaged are those of some bodies that wait to be healed.
func (s *Scrubber) stillDamaged(bodies []content.Body) []content.Body {
	damaged := map[content.Place]bool{}
	for _, body := range s.options.Bodies.Damaged() {
		damaged[body.Place()] = true
	}
	return slices.DeleteFunc(bodies, func(body content.Body) bool { return !damaged[body.Place()] })
}

// heal brings a damaged body back, or ends the node.
func (s *Scrubber) heal(ctx context.Context, damaged located) {
	if text, found := s.options.Bodies.InMemory(damaged.body); found {
		s.write(damaged, text)
		return
	}
	began := s.options.Clock.Monotonic()
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		var refusals error
		refused := true
		for _, node := range s.options.Others() {
			text, err := s.ask(ctx, node, damaged)
			if err == nil {
				s.write(damaged, text)
				return
			}
			refusals = errors.Join(refusals, err)
			refused = refused && errors.Is(err, errNotThere)
		}
		if ctx.Err() != nil {
			return
		}
		if !s.has(damaged) {
			s.options.Bodies.Forget(damaged.body)
			return
		}
		took := s.options.Clock.Monotonic() - began
		switch {
		case refusals == nil:
			s.options.Bodies.GiveUp(damaged.body, errAlone)
			return
		case refused && took > refusedFor, took > unreachableFor:
			s.options.Bodies.GiveUp(damaged.body, refusals)
			return
		}
		if !wakeup.Sleep(ctx, pause) {
			return
		}
	}
}

var errAlone = errors.New("there is no other node that could have it")

// write writes a body anew. If that fails, the node has ended.
func (s *Scrubber) write(damaged located, text string) {
	if err := s.options.Bodies.Heal(damaged.body, text); err != nil {
		s.options.Bodies.GiveUp(damaged.body, err)
	}
}

// has reports whether the message still has the body.
func (s *Scrubber) has(one located) (has bool) {
	s.options.Read(func(v queue.View) {
		body, found := bodyOf(v, one.queue, one.sequence)
		has = found && body.Place() == one.body.Place()
	})
	return has
}
