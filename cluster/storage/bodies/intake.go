package bodies

import "github.com/seriatimq/seriatim/queue/content"

// Intake takes the bodies of a snapshot that another node sends, before the state that has
// them is restored from it. Until it ends nothing is given back: neither what it appended,
// which no state counts yet, nor what the present state has, which the snapshot may refer
// to as well. Used by one goroutine; a Store has one at a time.
type Intake struct {
	store   *Store
	state   *state // the present one when it began
	first   uint32 // segment that it may have appended to
	release func()
}

// BeginIntake begins one.
func (s *Store) BeginIntake() *Intake {
	release := s.PinSnapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intakes++
	return &Intake{store: s, state: s.current.Load(), first: s.tail.segment, release: release}
}

// Append stores a text if it is long enough, else its body is in memory.
func (i *Intake) Append(text string, digest uint64) content.Body {
	if !i.store.keeps(len(text)) {
		return content.NewBody(text)
	}
	return i.store.append(text, digest)
}

// Sync returns when all of it is on disk.
func (i *Intake) Sync() error { return i.store.sync() }

// End lets go of the bodies. If no state was restored meanwhile, they were taken in for
// nothing, and are given back after the next snapshot. Nothing may change the state during
// the call, as a body that was just appended is counted a moment later.
func (i *Intake) End() {
	if i.store.current.Load() == i.state {
		i.store.giving.sweep(i.state, i.first)
	}
	i.release()
}

// tookIn reports whether a body of this run may have been taken in: an Intake began, and the
// body does not lie behind what was appended.
func (s *Store) tookIn(body content.Body) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.intakes > 0 && before(body.Place(), content.Place{Segment: s.tail.segment, Offset: s.tail.offset})
}

// sweep puts into the next batch what the present state does not have in segments from first
// on, also in those that are not written yet.
func (g *giving) sweep(state *state, first uint32) {
	sizes := map[uint32]int64{}
	for number := first; number < g.store.end().Segment; number++ {
		sizes[number] = g.store.options.SegmentBytes
	}
	unused := state.counts.unused(sizes)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == nil || g.state == state {
		g.later = append(g.later, unused...)
	}
}
