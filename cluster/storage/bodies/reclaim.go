package bodies

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// reclaimer returns the space of deleted bodies to the file system. Freed blocks are grouped into
// batches. Each capture ends a batch: the captured state has no body of that batch or earlier ones,
// but may have bodies of later ones. Safe for concurrent use.
type reclaimer struct {
	store  *Store
	life   context.Context
	cancel context.CancelFunc
	wake   wakeup.Signal
	// unpaused is the number of bytes reclaimed since the last pause. Used by run only.
	unpaused int64

	// files is held while space is reclaimed or a damaged body rewritten.
	files sync.Mutex

	mu       sync.Mutex
	state    *state  // the owner of the batches
	batches  []batch // not yet reclaimed, oldest first
	later    []run   // of earlier batches, for the next one
	number   uint64  // of the newest batch
	durable  uint64  // no restart needs the batches up to this one
	captures map[*captured]struct{}
}

// batch lists the space freed between two captures.
type batch struct {
	number uint64
	runs   []run
}

func (g *reclaimer) init(s *Store) {
	g.store, g.wake, g.captures = s, wakeup.NewSignal(), map[*captured]struct{}{}
	g.life, g.cancel = context.WithCancel(s.options.Life)
}

// captured keeps the bodies of a state at one moment.
type captured struct {
	reclaimer *reclaimer
	state     *state
	number    uint64 // of the batch that it ended
}

// capture ends a batch.
func (g *reclaimer) capture(of *state) *captured {
	freed := of.counts.collect(g.store.end())
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &captured{reclaimer: g, state: of}
	if g.state == nil {
		g.state = of
	}
	if g.state == of {
		c.number = g.endBatch(freed)
	}
	g.captures[c] = struct{}{}
	return c
}

func (g *reclaimer) endBatch(freed []run) uint64 {
	g.number++
	freed, g.later = append(g.later, freed...), nil
	if len(freed) > 0 {
		g.batches = append(g.batches, batch{g.number, freed})
	}
	return g.number
}

// adopted makes s the owner of the batches. Neither s nor the snapshot that it was restored from
// has a body in unused.
func (g *reclaimer) adopted(s *state, unused []run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.batches, g.later = s, nil, nil
	g.durable = g.endBatch(unused)
	g.wake.Notify()
}

// Sync returns when all bodies of the state are on disk. A read-only Store returns an error if one
// is missing: a recovery then removes the files that its snapshot replaces.
func (c *captured) Sync() error {
	if c.reclaimer.store.options.ReadOnly {
		return c.state.missing()
	}
	return c.reclaimer.store.sync()
}

// Stored records that a snapshot of the captured state is on disk.
func (c *captured) Stored() {
	g := c.reclaimer
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == c.state {
		g.durable = max(g.durable, c.number)
	}
	g.wake.Notify()
}

// Release allows the bodies to be reclaimed.
func (c *captured) Release() {
	g := c.reclaimer
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.captures, c)
	g.wake.Notify()
}

// PinSnapshot keeps the bodies of the newest snapshot until release is called.
func (s *Store) PinSnapshot() (release func()) {
	g := &s.reclaim
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &captured{reclaimer: g, state: g.state, number: g.durable}
	g.captures[c] = struct{}{}
	return c.Release
}

// next removes and returns the oldest batch, if it may be reclaimed.
func (g *reclaimer) next() (runs []run, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.batches) == 0 || g.batches[0].number > g.durable {
		return nil, false
	}
	for c := range g.captures {
		if c.state != g.state || c.number < g.batches[0].number {
			return nil, false
		}
	}
	runs = g.batches[0].runs
	g.batches[0] = batch{}
	g.batches = g.batches[1:]
	return runs, true
}

// run reclaims space until the Store closes.
func (g *reclaimer) run() {
	for {
		runs, ok := g.next()
		if !ok {
			select {
			case <-g.wake:
				continue
			case <-g.life.Done():
				return
			}
		}
		for _, r := range runs {
			if !g.pause(g.attempt(r)) {
				return
			}
		}
	}
}

// attempt reclaims the space of a run, or leaves it for later. It returns the bytes reclaimed.
func (g *reclaimer) attempt(r run) int64 {
	freed, later, err := g.reclaim(r)
	if err != nil {
		g.store.options.Logger.Warn("space of deleted bodies could not be reclaimed, retrying later", "error", err)
	}
	if later || err != nil {
		g.mu.Lock()
		g.later = append(g.later, r)
		g.mu.Unlock()
	}
	return freed
}

// pauseBytes are reclaimed between two pauses.
const pauseBytes = 4 << 20

// pause waits to limit the rate, and reports false if the Store closes.
func (g *reclaimer) pause(bytes int64) bool {
	if g.unpaused += bytes; g.unpaused < pauseBytes {
		return g.life.Err() == nil
	}
	wait := float64(g.unpaused) / float64(g.store.options.FreeBytesPerSecond) * float64(time.Second)
	g.unpaused = 0
	return wakeup.Sleep(g.life, time.Duration(wait))
}

// reclaim returns the space of a run to the file system; later reports that it is still being
// written.
func (g *reclaimer) reclaim(r run) (bytes int64, later bool, err error) {
	g.files.Lock()
	defer g.files.Unlock()
	s := g.store
	s.mu.RLock()
	end, whole := s.tail.end(r.segment)
	found := s.files[r.segment]
	s.mu.RUnlock()
	path := s.path(r.segment)
	switch {
	case r.blocks == 0 && (!whole || !found):
		return 0, !whole, nil
	case r.blocks == 0:
		return g.remove(r.segment)
	case !canPunch || !found:
		return 0, false, nil
	case !whole && int64(r.first+r.blocks)*blockBytes > end:
		return 0, true, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	length := int64(r.blocks) * blockBytes
	punched, err := punch(file, int64(r.first)*blockBytes, length)
	if punched {
		bytes = length
		s.counts.freedBytes.Add(bytes)
	}
	return bytes, false, errors.Join(err, file.Close())
}

// remove removes the file of a segment.
func (g *reclaimer) remove(segment uint32) (bytes int64, later bool, err error) {
	s := g.store
	path := s.path(segment)
	if info, err := os.Stat(path); err == nil {
		bytes = allocated(info)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, err
	}
	s.mu.Lock()
	delete(s.files, segment)
	s.mu.Unlock()
	s.counts.freedBytes.Add(bytes)
	return bytes, false, nil
}
