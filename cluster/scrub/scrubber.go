package scrub

import (
	"context"
	"log/slog"
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
	Bodies *bodies.Store
	// Read reads the present state, and returns the index of the last entry that it has.
	Read    func(read func(queue.View)) (applied uint64)
	Others  func() []string // members but this node
	Network *peernet.Network
	Group   uint32
	Clock   environment.Clock
	Logger  *slog.Logger
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

	// For Run alone.
	open map[content.Place]*damage // bodies that could not be healed yet
	said time.Duration             // when that was logged
}

// New returns a Scrubber that is told from now on of what readers find damaged.
func New(options Options) *Scrubber {
	s := &Scrubber{options: options, found: wakeup.NewSignal(), open: map[content.Place]*damage{}}
	options.Bodies.HealWith(s.found.Notify)
	return s
}

const (
	// pieceBytes are read from disk between two pauses.
	pieceBytes = 256 << 10
	// pageBytes is what it counts for to look at a page of messages.
	pageBytes = 4 << 10
)

// Run checks and heals until ctx ends.
func (s *Scrubber) Run(ctx context.Context) {
	var at walk
	var retry <-chan time.Time // nil: nothing is open
	due, pause := s.after(0), pauseMin
	for {
		if retry == nil && len(s.open) > 0 {
			retry = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.found:
			s.repair(ctx)
			pause = pauseMin
		case <-retry:
			s.retry(ctx)
			retry, pause = nil, min(2*pause, pauseMax)
		case <-due:
			due = s.after(s.piece(ctx, &at))
		}
	}
}

// after is when to check the next bodies: never, if no rate is set.
func (s *Scrubber) after(pause time.Duration) <-chan time.Time {
	if s.options.BytesPerSecond <= 0 {
		return nil
	}
	return time.After(pause)
}

// piece checks the next bodies, and returns how long to wait before the ones after them.
func (s *Scrubber) piece(ctx context.Context, at *walk) (pause time.Duration) {
	var piece []located
	bytes := int64(0)
	for bytes < pieceBytes && ctx.Err() == nil {
		page, more := s.page(at)
		bytes += pageBytes
		for _, one := range page {
			bytes += int64(one.body.Len())
		}
		piece = append(piece, page...)
		if !more {
			pause = s.options.Interval
			break
		}
	}
	s.check(ctx, newRound(), piece)
	return pause + time.Duration(float64(bytes)/float64(s.options.BytesPerSecond)*float64(time.Second))
}

func (s *Scrubber) page(at *walk) (page []located, more bool) {
	s.options.Read(func(v queue.View) { page, more = at.page(v) })
	return page, more
}

// check heals what is damaged of some bodies, or leaves it for later.
func (s *Scrubber) check(ctx context.Context, round round, some []located) {
	if len(some) == 0 {
		return
	}
	list := make([]content.Body, len(some))
	owners := make(map[content.Place]located, len(some))
	for i, one := range some {
		list[i] = one.body
		owners[one.body.Place()] = one
	}
	s.options.Bodies.Uncache(list)
	for _, body := range s.options.Bodies.Check(list) {
		if s.open[body.Place()] != nil {
			continue // it has its own turns
		}
		found := &damage{located: owners[body.Place()]}
		if s.open[body.Place()] = found; s.heal(ctx, round, found) {
			delete(s.open, body.Place())
		}
	}
}
