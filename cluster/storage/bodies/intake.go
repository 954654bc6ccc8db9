package bodies

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/content"
)

// Intake takes the bodies of a snapshot that another node sends, before the state that has
// them is restored from it. Until it ends nothing is given back: neither what it appended,
// which no state counts yet, nor what the present state has, which the snapshot may refer
// to as well. Used by one goroutine; a Store has one at a time.
type Intake struct {
	store   *Store
	state   *state // the present one when it began
	first   uint32 // segment that it may append to
	release func()
	shared  map[uint32]bool // segments from first on that a state appended to as well; changes with Store.mu held
}

// BeginIntake begins one. It begins a segment, so that what it takes in for nothing can go
// as whole files.
func (s *Store) BeginIntake() *Intake {
	release := s.PinSnapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intakes++
	s.tail.endSegment()
	s.intake = &Intake{store: s, state: s.current.Load(), first: s.tail.segment, release: release, shared: map[uint32]bool{}}
	return s.intake
}

// Append stores a text if it is long enough, else its body is in memory.
func (i *Intake) Append(text string, digest uint64) content.Body {
	if !i.store.keeps(len(text)) {
		return content.NewBody(text)
	}
	return i.store.append(text, digest, true)
}

// Sync returns when all of it is on disk. Nothing is taken in any more.
func (i *Intake) Sync() error {
	i.store.mu.Lock()
	i.store.tail.endSegment()
	i.store.mu.Unlock()
	return i.store.sync()
}

// End lets go of the bodies, after Sync. If no state was restored meanwhile, they were taken
// in for nothing. referred says that a snapshot may refer to them all the same: they are
// given back after the next one. Else they go at once: a node that is sent one snapshot after
// the other in vain writes none of its own, and would fill its disk. Nothing may change the
// state during the call, as a body that was just appended is counted a moment later.
func (i *Intake) End(referred bool) {
	s := i.store
	s.mu.Lock()
	s.intake = nil
	s.mu.Unlock()
	if s.current.Load() == i.state {
		s.giving.sweep(i, referred)
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

// sweep gives back what the present state does not have in the segments of an intake.
func (g *giving) sweep(i *Intake, referred bool) {
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
