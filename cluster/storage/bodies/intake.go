package bodies

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/message"
)

// Intake stores the bodies of a snapshot from another node, before its state is restored. Until it
// ends, no space is reclaimed: no state counts the new bodies yet, and the snapshot may also refer
// to bodies of the current state. Used by one goroutine; a Store has one at a time.
type Intake struct {
	store   *Store
	state   *state // that was current when the intake began
	first   uint32 // segment that it may append to
	release func()
	shared  map[uint32]bool // segments from first on that a state appended to as well; guarded by Store.mu
}

// BeginIntake begins an Intake in a new segment, so that bodies of a failed one can be removed as
// whole files.
func (s *Store) BeginIntake() *Intake {
	release := s.PinSnapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intakes++
	s.tail.endSegment()
	s.intake = &Intake{store: s, state: s.current.Load(), first: s.tail.segment, release: release, shared: map[uint32]bool{}}
	return s.intake
}

// Append stores a text. A short one stays in memory.
func (i *Intake) Append(text string, digest uint64) message.Body {
	if !i.store.keeps(len(text)) {
		return message.NewBody(text)
	}
	return i.store.append(text, digest, true)
}

// Sync returns when all bodies are on disk. Call it after the last Append.
func (i *Intake) Sync() error {
	i.store.mu.Lock()
	i.store.tail.endSegment()
	i.store.mu.Unlock()
	return i.store.sync()
}

// End releases the bodies, after Sync. If no state was restored meanwhile, they are reclaimed: at
// once, or after the next snapshot if referred is set, because a snapshot may refer to them. A node
// that repeatedly fails to install a snapshot writes none of its own, and would fill its disk. The
// state must not change during the call, because an appended body is counted a moment later.
func (i *Intake) End(referred bool) {
	s := i.store
	s.mu.Lock()
	s.intake = nil
	s.mu.Unlock()
	if s.current.Load() == i.state {
		s.reclaim.sweep(i, referred)
	}
	i.release()
}

// tookIn reports whether a body of this run may belong to an Intake: one began, and the body was
// appended.
func (s *Store) tookIn(body message.Body) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.intakes > 0 && comparePlaces(body.Place(), message.Place{Segment: s.tail.segment, Offset: s.tail.offset}) < 0
}

// sweep reclaims the bodies in the segments of an intake that the current state does not have.
func (g *reclaimer) sweep(i *Intake, referred bool) {
	alone, others := map[uint32]int64{}, map[uint32]int64{}
	for number := i.first; number < g.store.end().Segment; number++ {
		if referred || i.shared[number] {
			others[number] = g.store.options.SegmentBytes
		} else {
			alone[number] = g.store.options.SegmentBytes
		}
	}
	atOnce, unused := i.state.counts.unused(alone), i.state.counts.unused(others)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == nil || g.state == i.state {
		g.later = append(g.later, unused...)
		g.batches = slices.Insert(g.batches, 0, batch{runs: atOnce}) // older than any snapshot
		g.wake.Notify()
	}
}
