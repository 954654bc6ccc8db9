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
	"github.com/seriatimq/seriatim/queue/message"
)

// Options configure a Scrubber.
type Options struct {
	Bodies *bodies.Store
	// Read reads the current state, and returns the index of its last entry.
	Read    func(read func(queue.View)) (applied uint64)
	Others  func() []string // the other members
	Network *peernet.Network
	Group   uint32
	Clock   environment.Clock
	Logger  *slog.Logger
	// BytesPerSecond is the rate of checking bodies on disk; 0: only damage that readers find is
	// healed.
	BytesPerSecond int64
	// Interval is the pause between two walks over all bodies.
	Interval time.Duration
}

// Scrubber checks and heals the bodies of one node. Made by New. Run and Serve each take
// one goroutine; the other methods are safe for concurrent use.
type Scrubber struct {
	options Options
	found   wakeup.Signal // bodies may be damaged

	// For Run only.
	open   map[message.Place]*damage // bodies that are not healed yet
	logged time.Duration             // time of the last warning about them
}

// New returns a Scrubber that handles damage found by readers from now on.
func New(options Options) *Scrubber {
	s := &Scrubber{options: options, found: wakeup.NewSignal(), open: map[message.Place]*damage{}}
	options.Bodies.HealWith(s.found.Notify)
	return s
}

const (
	// pieceBytes are read from disk between two pauses.
	pieceBytes = 256 << 10
	// pageBytes is the cost of a page of messages, counted against the rate.
	pageBytes = 4 << 10
)

// Run checks and heals until ctx ends.
func (s *Scrubber) Run(ctx context.Context) {
	var at walk
	var retry <-chan time.Time // nil: no body is open
	due, pause := s.after(0), pauseMin
	for {
		if retry == nil && len(s.open) > 0 {
			retry = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.found:
			s.healFound(ctx)
			pause = pauseMin
		case <-retry:
			s.retry(ctx)
			retry, pause = nil, min(2*pause, pauseMax)
		case <-due:
			due = s.after(s.piece(ctx, &at))
		}
	}
}

// after returns a channel for the time of the next check; nil if no rate is set.
func (s *Scrubber) after(pause time.Duration) <-chan time.Time {
	if s.options.BytesPerSecond <= 0 {
		return nil
	}
	return time.After(pause)
}

// piece checks some bodies, and returns the pause after them.
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

// check heals the damaged ones of some bodies. Bodies that cannot be healed remain open.
func (s *Scrubber) check(ctx context.Context, round round, some []located) {
	if len(some) == 0 {
		return
	}
	list := make([]message.Body, len(some))
	owners := make(map[message.Place]located, len(some))
	for i, one := range some {
		list[i] = one.body
		owners[one.body.Place()] = one
	}
	s.options.Bodies.Uncache(list)
	for _, body := range s.options.Bodies.Check(list) {
		if s.open[body.Place()] != nil {
			continue // Run retries it
		}
		found := &damage{located: owners[body.Place()]}
		if s.open[body.Place()] = found; s.heal(ctx, round, found) {
			delete(s.open, body.Place())
		}
	}
}
