package bodies

import (
	"fmt"
	"math"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/content"
)

// state is what one state of the state machine has in a Store: the present one, or one
// that is being restored.
type state struct {
	store  *Store
	counts usage
	// Of a state that is being restored: the body appended last, and whether it refers
	// to one of this run that it did not append, so that the file it means is missing.
	appended content.Place
	adopted  bool
	astray   bool
	inlined  bool // it was restored from a snapshot with bodies in it
}

var _ fsm.StateBodies = (*state)(nil)

func newState(store *Store) *state { return &state{store: store, counts: newUsage()} }

// Keeps reports whether a text is long enough to be stored.
func (t *state) Keeps(size int) bool {
	return t.store.keeps(size)
}

func (s *Store) keeps(size int) bool {
	return s.options.Keep && !s.options.ReadOnly && size >= s.options.KeepMin
}

// Append stores a text.
func (t *state) Append(text string, digest uint64) content.Body {
	body := t.store.append(text, digest, false)
	t.appended = body.Place()
	return body
}

// Read reads a body.
func (t *state) Read(body content.Body) (content.Body, error) { return t.store.Read(body) }

// Require reads a body that a command cannot be applied without.
func (t *state) Require(body content.Body) (content.Body, error) { return t.store.require(body) }

// Hold counts a message that has the body.
func (t *state) Hold(body content.Body) {
	if !t.adopted && body.Place().Segment >= t.store.first && body.Place() != t.appended && !t.store.tookIn(body) {
		t.astray = true
	}
	if t.adopted {
		t.counts.hold(body)
	} else { // nobody else looks at it
		t.counts.add(body)
	}
}

// Free takes Hold back.
func (t *state) Free(body content.Body) {
	t.counts.free(body)
	t.store.counts.deletedBytes.Add(recordBytes(body))
}

// DeletedBytes is how many bytes of bodies were deleted in this run, whether their space
// was given back or not. What a message took from one queue to another counts, too.
func (s *Store) DeletedBytes() int64 { return s.counts.deletedBytes.Load() }

// Adopt makes this the state whose bodies are kept. What only others had goes as soon as
// nobody reads them.
func (t *state) Adopt() error {
	s := t.store
	if s.options.ReadOnly {
		// It may be an older snapshot, which has bodies that are gone.
		t.adopted = true
		s.current.Store(t)
		return nil
	}
	if err := t.missing(); err != nil {
		return err
	}
	t.adopted, t.inlined = true, t.appended != content.Place{}
	t.counts.take(content.Place{Segment: math.MaxUint32}) // what a restore freed is among what is listed below
	s.current.Store(t)
	s.giving.adopted(t, t.counts.unused(s.sizes()))
	return nil
}

// missing is an error if the state has bodies whose segments are not there.
func (t *state) missing() error {
	if t.astray {
		return fmt.Errorf("segments from number %d on are missing", t.store.first)
	}
	return t.counts.beyond(t.store.before, t.store.first)
}

// RestoredNothing says that this node has no snapshot: nothing refers to what earlier runs
// left.
func (s *Store) RestoredNothing() {
	if state := s.current.Load(); state != nil && !s.options.ReadOnly {
		s.giving.adopted(state, state.counts.unused(s.before))
	}
}

// RestoredInline reports whether the present state came from a snapshot that had bodies in
// it which are in segments now: until there is another snapshot both are kept.
func (s *Store) RestoredInline() bool {
	state := s.current.Load()
	return state != nil && state.inlined
}

// end is where the next body goes.
func (s *Store) end() content.Place {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return content.Place{Segment: s.tail.segment, Offset: s.tail.offset}
}

// sizes are those of the segments that nothing is added to.
func (s *Store) sizes() map[uint32]int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sizes := make(map[uint32]int64, len(s.files))
	for number := range s.files {
		if size, before := s.before[number]; before {
			sizes[number] = size
		} else if number < s.tail.segment {
			sizes[number] = s.options.SegmentBytes
		}
	}
	return sizes
}

// Capture keeps all bodies that the state has now.
func (t *state) Capture() fsm.CapturedBodies { return t.store.giving.capture(t) }

// inUse counts the bodies that the state has.
func (t *state) inUse() (bodies, bytes int64) {
	t.counts.mu.Lock()
	defer t.counts.mu.Unlock()
	return t.counts.bodies, t.counts.bytes
}
