package bodies

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue/message"
)

// healing records the damaged bodies that are being fetched from other nodes. Safe for concurrent
// use.
type healing struct {
	mu     sync.Mutex
	notify func() // nil: damage is not healed
	found  map[message.Place]*BeingHealed
}

// BeingHealed is the error for a damaged body that is being fetched from another node.
type BeingHealed struct {
	Body message.Body
	text string
	done chan struct{}
	err  error // valid when done is closed
}

// Error names the place of the body.
func (h *BeingHealed) Error() string { return h.text }

// Done returns a channel that is closed when the body was rewritten or given up.
func (h *BeingHealed) Done() <-chan struct{} { return h.done }

// Outcome returns nil if the body can be read. Call it after Done is closed.
func (h *BeingHealed) Outcome() error { return h.err }

var errNotWritten = fmt.Errorf("%w: it is not what was written", storage.ErrDamaged)

// HealWith enables healing: notify is called when Damaged has new bodies, and must not block.
// Without it, reading a damaged body ends the node.
func (s *Store) HealWith(notify func()) {
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	s.healing.notify, s.healing.found = notify, map[message.Place]*BeingHealed{}
}

// Damaged returns the bodies that wait to be healed, in order of their places.
func (s *Store) Damaged() []message.Body {
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	var list []message.Body
	for _, h := range s.healing.found { // sorted below
		list = append(list, h.Body)
	}
	slices.SortFunc(list, byPlace)
	return list
}

func byPlace(a, b message.Body) int { return comparePlaces(a.Place(), b.Place()) }

// describe names the place of a body.
func (s *Store) describe(body message.Body) string {
	at := body.Place()
	return fmt.Sprintf("the body of %d bytes at %d of %s", body.Len(), at.Offset, s.path(at.Segment))
}

// damaged records a damaged body, and returns the error for its reader.
func (s *Store) damaged(body message.Body, why error) error {
	at := body.Place()
	text := s.describe(body) + " cannot be read"
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	if s.healing.notify == nil {
		s.counts.damaged.Add(1)
		return s.options.Guard.FailRead(fmt.Errorf("%s: %w", text, why))
	}
	h := s.healing.found[at]
	if h == nil || h.Body.Digest() != body.Digest() || h.Body.Len() != body.Len() {
		h = &BeingHealed{Body: body, text: fmt.Sprintf("%s: %v; it is being fetched from another node", text, why),
			done: make(chan struct{})}
		s.healing.found[at] = h
		s.counts.damaged.Add(1)
		s.options.Logger.Warn("a message body is damaged on this node's disk, it is being fetched from another node",
			"file", s.path(at.Segment), "offset", at.Offset, "bytes", body.Len(), "error", why)
		s.healing.notify()
	}
	return h
}

// healed reports the outcome to the readers that wait for a body.
func (s *Store) healed(body message.Body, outcome error) {
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	if h := s.healing.found[body.Place()]; h != nil {
		delete(s.healing.found, body.Place())
		h.err = outcome
		close(h.done)
	}
}

// soundAgain resumes readers of a body that can be read after all, after a transient disk error or
// a read during its rewrite.
func (s *Store) soundAgain(body message.Body) {
	s.healing.mu.Lock()
	h := s.healing.found[body.Place()]
	waiting := h != nil && h.Body.Digest() == body.Digest() && h.Body.Len() == body.Len()
	s.healing.mu.Unlock()
	if waiting {
		s.options.Logger.Warn("a message body that could not be read can be read again; check the disk",
			"file", s.path(body.Place().Segment), "offset", body.Place().Offset, "bytes", body.Len())
		s.healed(body, nil)
	}
}

// Heal rewrites a damaged body in place. A record depends only on its place, text and digest, so
// this is safe at any time. An encrypted record differs each time; a crash in between leaves it
// damaged.
func (s *Store) Heal(body message.Body, text string) error {
	if len(text) != body.Len() {
		return fmt.Errorf("a body of %d bytes cannot take the place of one of %d", len(text), body.Len())
	}
	s.reclaim.files.Lock()
	defer s.reclaim.files.Unlock()
	if !s.needs(body) { // its space may be reclaimed
		s.Forget(body)
		return nil
	}
	path := s.path(body.Place().Segment)
	record := s.cipher.appendRecord(nil, body.Place(), text, body.Digest())
	if encrypted(body.Place().Segment) && s.options.Healing != nil {
		if err := s.options.Healing(encryption.KeyOf(record[recordHeadBytes:]), body.Place().Segment); err != nil {
			return err
		}
	}
	err := s.options.Guard.Write("heal a body in "+path, func() error {
		file, err := s.open(body.Place().Segment)
		if err != nil {
			return err
		}
		_, err = file.WriteAt(record, int64(body.Place().Offset))
		return errors.Join(err, file.Sync(), file.Close())
	})
	if err != nil {
		return err
	}
	s.counts.healed.Add(1)
	s.options.Logger.Warn("a damaged message body was healed; check the disk",
		"file", path, "offset", body.Place().Offset, "bytes", body.Len())
	s.healed(body, nil)
	return nil
}

// Forget records that the state no longer has the body.
func (s *Store) Forget(body message.Body) { s.healed(body, ErrGone) }

// GiveUp ends the node because no other node has the body.
func (s *Store) GiveUp(body message.Body, why error) {
	s.healing.mu.Lock()
	s.healing.notify = nil // in tests the node continues
	s.healing.mu.Unlock()
	err := s.options.Guard.Fail(fault.ExitChecksum,
		fmt.Errorf("%s is damaged and cannot be healed: %w; %s", s.describe(body), why, storage.ReplaceNode))
	s.healed(body, err)
}

// Sound returns the text of an undamaged body. Unlike Read, it does not record damage.
func (s *Store) Sound(body message.Body) (text string, sound bool) {
	if text, found := s.InMemory(body); found {
		return text, true
	}
	record, err := s.readFile(body)
	if err == nil {
		text, err = s.cipher.textOf(record, body)
	}
	return text, err == nil
}

// InMemory returns the text of a body that is still in memory.
func (s *Store) InMemory(body message.Body) (text string, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	record, found := s.tail.find(body)
	if !found {
		return "", false
	}
	text, err := s.cipher.textOf(record, body)
	return text, err == nil
}

// Check reads bodies from their files, even those that are in memory, and records and returns the
// damaged ones. A damaged body that is readable again is recorded as healed. Call Uncache first, so
// that the disk is read. Unwritten bodies are skipped.
func (s *Store) Check(bodies []message.Body) (damaged []message.Body) {
	bodies = slices.Clone(bodies)
	slices.SortFunc(bodies, byPlace)
	var file *os.File
	var segment uint32
	var record []byte
	for _, body := range bodies {
		if !s.written(body) {
			continue
		}
		var err error
		if file == nil || segment != body.Place().Segment {
			closeRead(file)
			segment = body.Place().Segment
			file, err = os.Open(s.path(segment))
		}
		size := int(recordBytes(body))
		if err == nil {
			record = slices.Grow(record[:0], size)[:size]
			err = readAt(file, body.Place().Offset, record)
		}
		if err == nil {
			_, err = s.cipher.textOf(record, body)
		}
		s.counts.checked.Add(int64(size))
		if err == nil {
			s.soundAgain(body)
		} else if !storage.Exhausted(err) && s.needs(body) {
			damaged = append(damaged, body)
			_ = s.damaged(body, err) // the caller heals it
		}
	}
	closeRead(file)
	return damaged
}

func closeRead(file *os.File) {
	if file != nil {
		_ = file.Close() // it was only read
	}
}

// written reports whether a body is in its file.
func (s *Store) written(body message.Body) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	end, whole := s.tail.end(body.Place().Segment)
	return whole || int64(body.Place().Offset)+recordBytes(body) <= end
}
