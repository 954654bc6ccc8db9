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

// giving gives space back. What a state frees is cut into batches: each capture ends one,
// so that what it has is in none of the batches up to then, and may be in any later one.
// Safe for concurrent use.
type giving struct {
	store  *Store
	life   context.Context
	cancel context.CancelFunc
	wake   wakeup.Signal
	// unpaused is how much was given back since the last pause, for run alone.
	unpaused int64

	// files is held while space is given back, or a damaged body is written anew.
	files sync.Mutex

	mu       sync.Mutex
	state    *state  // whose batches these are
	batches  []batch // not given back yet, oldest first
	later    []run   // of earlier batches, for the next one
	number   uint64  // of the newest batch
	durable  uint64  // no restart asks for what is in batches up to this one
	captures map[*captured]struct{}
}

// batch is what was freed between two captures.
type batch struct {
	number uint64
	runs   []run
}

func (g *giving) init(s *Store) {
	g.store, g.wake, g.captures = s, wakeup.NewSignal(), map[*captured]struct{}{}
	g.life, g.cancel = context.WithCancel(s.options.Life)
}

// captured keeps what a state had when it was made.
type captured struct {
	giving *giving
	state  *state
	number uint64 // of the batch that it ended
}

// capture ends a batch.
func (g *giving) capture(of *state) *captured {
	freed := of.counts.take(g.store.end())
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &captured{giving: g, state: of}
	if g.state == nil {
		g.state = of
	}
	if g.state == of {
		c.number = g.endBatch(freed)
	}
	g.captures[c] = struct{}{}
	return c
}

func (g *giving) endBatch(freed []run) uint64 {
	g.number++
	freed, g.later = append(g.later, freed...), nil
	if len(freed) > 0 {
		g.batches = append(g.batches, batch{g.number, freed})
	}
	return g.number
}

// adopted makes another state the one that counts. It has nothing in unused, nor does
// the snapshot that it was restored from.
func (g *giving) adopted(s *state, unused []run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.batches, g.later = s, nil, nil
	g.durable = g.endBatch(unused)
	g.wake.Notify()
}

// Sync returns when all bodies of the state are on disk. Where nothing is written they have
// to be there already: a recovery goes on to remove what its snapshot takes the place of.
func (c *captured) Sync() error {
	if c.giving.store.options.ReadOnly {
		return c.state.missing()
	}
	return c.giving.store.sync()
}

// Stored says that a snapshot of the captured state is on disk.
func (c *captured) Stored() {
	g := c.giving
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == c.state {
		g.durable = max(g.durable, c.number)
	}
	g.wake.Notify()
}

// Release lets the bodies go.
func (c *captured) Release() {
	g := c.giving
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.captures, c)
	g.wake.Notify()
}

// PinSnapshot keeps what the newest snapshot refers to until release is called.
func (s *Store) PinSnapshot() (release func()) {
	g := &s.giving
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &captured{giving: g, state: g.state, number: g.durable}
	g.captures[c] = struct{}{}
	return c.Release
}

// next takes the oldest batch if it can be given back.
func (g *giving) next() (runs []run, ok bool) {
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

// run gives space back until the Store closes.
func (g *giving) run() {
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

// attempt gives the space of a run back, or leaves it for later, and returns how much it
// was.
func (g *giving) attempt(r run) int64 {
	given, later, err := g.giveBack(r)
	if err != nil {
		g.store.options.Logger.Warn("space of deleted bodies could not be given back, it will be tried again", "error", err)
	}
	if later || err != nil {
		g.mu.Lock()
		g.later = append(g.later, r)
		g.mu.Unlock()
	}
	return given
}

// pauseBytes is how much is given back between two pauses.
const pauseBytes = 4 << 20

// pause waits as the pace demands, and reports whether to go on.
func (g *giving) pause(bytes int64) bool {
	if g.unpaused += bytes; g.unpaused < pauseBytes {
		return g.life.Err() == nil
	}
	wait := float64(g.unpaused) / float64(g.store.options.FreeBytesPerSecond) * float64(time.Second)
	g.unpaused = 0
	return wakeup.Sleep(g.life, time.Duration(wait))
}

// giveBack gives the space of a run back; later says that it is too early for that.
func (g *giving) giveBack(r run) (bytes int64, later bool, err error) {
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
	given, err := punch(file, int64(r.first)*blockBytes, length)
	if given {
		bytes = length
		s.counts.freedBytes.Add(bytes)
	}
	return bytes, false, errors.Join(err, file.Close())
}

// remove removes a segment.
func (g *giving) remove(segment uint32) (bytes int64, later bool, err error) {
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
