package bodies

import (
	"fmt"
	"math"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/message"
)

// state counts the bodies of one state of the state machine: the current one, or one that is being
// restored.
type state struct {
	store  *Store
	counts usage
	// During a restore: the last appended body, and whether the state refers to a body of this run
	// that it did not append, which shows that a file is missing.
	appended message.Place
	adopted  bool
	astray   bool
	inlined  bool // restored from a snapshot with inlined bodies
}

var _ fsm.StateBodies = (*state)(nil)

func newState(store *Store) *state { return &state{store: store, counts: newUsage()} }

// Keeps reports whether a text of this size is stored in a segment.
func (t *state) Keeps(size int) bool {
	return t.store.keeps(size)
}

func (s *Store) keeps(size int) bool {
	return s.options.Keep && !s.options.ReadOnly && size >= s.options.KeepMin
}

// Append stores a text.
func (t *state) Append(text string, digest uint64) message.Body {
	body := t.store.append(text, digest, false)
	t.appended = body.Place()
	return body
}

// Read reads a body.
func (t *state) Read(body message.Body) (message.Body, error) { return t.store.Read(body) }

// Require reads a body that a command needs.
func (t *state) Require(body message.Body) (message.Body, error) { return t.store.require(body) }

// Hold counts a message with the body.
func (t *state) Hold(body message.Body) {
	if !t.adopted && body.Place().Segment >= t.store.first && body.Place() != t.appended && !t.store.tookIn(body) {
		t.astray = true
	}
	if t.adopted {
		t.counts.hold(body)
	} else { // not shared with other goroutines yet
		t.counts.add(body)
	}
}

// Free reverses Hold.
func (t *state) Free(body message.Body) {
	t.counts.free(body)
	t.store.counts.deletedBytes.Add(recordBytes(body))
}

// DeletedBytes returns the bytes of bodies deleted in this run, reclaimed or not. Moving a message
// between queues also counts.
func (s *Store) DeletedBytes() int64 { return s.counts.deletedBytes.Load() }

// Adopt makes this the current state. Bodies of other states are reclaimed when no reader uses
// them.
func (t *state) Adopt() error {
	s := t.store
	if s.options.ReadOnly {
		// An older snapshot may have bodies that were reclaimed.
		t.adopted = true
		s.current.Store(t)
		return nil
	}
	if err := t.missing(); err != nil {
		return err
	}
	t.adopted, t.inlined = true, t.appended != message.Place{}
	t.counts.collect(message.Place{Segment: math.MaxUint32}) // bodies freed by the restore are part of unused
	s.current.Store(t)
	s.reclaim.adopted(t, t.counts.unused(s.sizes()))
	return nil
}

// missing returns an error if a segment of the state is missing.
func (t *state) missing() error {
	if t.astray {
		return fmt.Errorf("segments from number %d on are missing", t.store.first)
	}
	return t.counts.beyond(t.store.before, t.store.first)
}

// RestoredNothing reports that this node has no snapshot, so that segments of earlier runs are
// unused.
func (s *Store) RestoredNothing() {
	if state := s.current.Load(); state != nil && !s.options.ReadOnly {
		s.reclaim.adopted(state, state.counts.unused(s.before))
	}
}

// RestoredInline reports whether the current state was restored from a snapshot with inlined
// bodies, which are in segments as well until the next snapshot.
func (s *Store) RestoredInline() bool {
	state := s.current.Load()
	return state != nil && state.inlined
}

// end returns the place of the next body.
func (s *Store) end() message.Place {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return message.Place{Segment: s.tail.segment, Offset: s.tail.offset}
}

// sizes returns the sizes of the complete segments.
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

// Capture keeps all current bodies of the state.
func (t *state) Capture() fsm.CapturedBodies { return t.store.reclaim.capture(t) }

// inUse returns the number and size of the state's bodies.
func (t *state) inUse() (bodies, bytes int64) {
	t.counts.mu.Lock()
	defer t.counts.mu.Unlock()
	return t.counts.bodies, t.counts.bytes
}
