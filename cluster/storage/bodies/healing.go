package bodies

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue/content"
)

// healing are the bodies that were found damaged and are being fetched from other nodes.
// Safe for concurrent use.
type healing struct {
	mu     sync.Mutex
	notify func() // nil: nobody heals
	found  map[content.Place]*BeingHealed
}

// BeingHealed is the error of reading a damaged body that may come from another node.
type BeingHealed struct {
	Body content.Body
	text string
	done chan struct{}
	err  error // why it was not healed, once done is closed
}

// Error says where the body is.
func (h *BeingHealed) Error() string { return h.text }

// Done is closed when the body was written anew, or never will be.
func (h *BeingHealed) Done() <-chan struct{} { return h.done }

// Outcome is nil if the body can be read, once Done is closed.
func (h *BeingHealed) Outcome() error { return h.err }

var errNotWritten = fmt.Errorf("%w: it is not what was written", storage.ErrDamaged)

// HealWith has damaged bodies healed: notify is called when Damaged has more of them. It
// must not block. Without it a damaged body ends the node when it is read.
func (s *Store) HealWith(notify func()) {
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	s.healing.notify, s.healing.found = notify, map[content.Place]*BeingHealed{}
}

// Damaged lists the bodies that wait to be healed, by their places.
func (s *Store) Damaged() []content.Body {
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	var list []content.Body
	for _, h := range s.healing.found { // sorted below
		list = append(list, h.Body)
	}
	slices.SortFunc(list, byPlace)
	return list
}

func byPlace(a, b content.Body) int {
	at, than := a.Place(), b.Place()
	return cmp.Or(cmp.Compare(at.Segment, than.Segment), cmp.Compare(at.Offset, than.Offset))
}

// describe says where a body is.
func (s *Store) describe(body content.Body) string {
	at := body.Place()
	return fmt.Sprintf("the body of %d bytes at %d of %s", body.Len(), at.Offset, s.path(at.Segment))
}

// damaged notes a body that cannot be read, and returns what its reader gets.
func (s *Store) damaged(body content.Body, why error) error {
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
		h = &BeingHealed{Body: body, text: fmt.Sprintf("%s: %v; it is being fetched from another node", text, why), done: make(chan struct{})}
		s.healing.found[at] = h
		s.counts.damaged.Add(1)
		s.options.Logger.Warn("a body of a message is damaged on this node's disk, it is being fetched from another node",
			"file", s.path(at.Segment), "offset", at.Offset, "bytes", body.Len(), "error", why)
		s.healing.notify()
	}
	return h
}

// healed tells those who wait for a body what became of it.
func (s *Store) healed(body content.Body, outcome error) {
	s.healing.mu.Lock()
	defer s.healing.mu.Unlock()
	if h := s.healing.found[body.Place()]; h != nil {
		delete(s.healing.found, body.Place())
		h.err = outcome
		close(h.done)
	}
}

// soundAgain lets those go on who wait for a body that can be read after all: the disk may
// have failed once, or the reader was there while it was written anew.
func (s *Store) soundAgain(body content.Body) {
	s.healing.mu.Lock()
	h := s.healing.found[body.Place()]
	waiting := h != nil && h.Body.Digest() == body.Digest() && h.Body.Len() == body.Len()
	s.healing.mu.Unlock()
	if waiting {
		s.options.Logger.Warn("a body of a message that could not be read can be read again; look after the disk",
			"file", s.path(body.Place().Segment), "offset", body.Place().Offset, "bytes", body.Len())
		s.healed(body, nil)
	}
}

// Heal writes a damaged body anew, in its place. That is safe at any time: a record is
// made of nothing but its place, the text and the digest, and is never changed. An encrypted
// one has other bytes each time it is written; a crash in between leaves it damaged.
func (s *Store) Heal(body content.Body, text string) error {
	if len(text) != body.Len() {
		return fmt.Errorf("a body of %d bytes cannot take the place of one of %d", len(text), body.Len())
	}
	s.giving.files.Lock()
	defer s.giving.files.Unlock()
	if !s.needs(body) { // its space may be given back
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
	err := s.options.Guard.Write("write a damaged body anew in "+path, func() error {
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
	s.options.Logger.Warn("a damaged body of a message was written anew; look after the disk", "file", path, "offset", body.Place().Offset, "bytes", body.Len())
	s.healed(body, nil)
	return nil
}

// Forget says that the state has no such body any more.
func (s *Store) Forget(body content.Body) { s.healed(body, ErrGone) }

// GiveUp ends the node for a damaged body that no other node has.
func (s *Store) GiveUp(body content.Body, why error) {
	s.healing.mu.Lock()
	s.healing.notify = nil // where a test goes on, nothing is healed any more
	s.healing.mu.Unlock()
	err := s.options.Guard.Fail(fault.ExitChecksum, fmt.Errorf("%s is damaged and cannot be healed: %w; %s", s.describe(body), why, storage.ReplaceNode))
	s.healed(body, err)
}

// Sound is the text of a body, if it is sound. Unlike Read it does nothing about one that
// is not.
func (s *Store) Sound(body content.Body) (text string, sound bool) {
	if text, found := s.InMemory(body); found {
		return text, true
	}
	record, err := s.readFile(body)
	if err == nil {
		text, err = s.cipher.textOf(record, body)
	}
	return text, err == nil
}

// InMemory is the text of a body if it was written so shortly ago that it is still in
// memory.
func (s *Store) InMemory(body content.Body) (text string, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	record, found := s.tail.find(body)
	if !found {
		return "", false
	}
	text, err := s.cipher.textOf(record, body)
	return text, err == nil
}

// Check reads bodies from their files, also those that are in memory, and notes those that
// are damaged, which it returns. What the system keeps of the files says nothing about the
// disk, see Uncache. Of others it notes that they are not. What is not written yet
// it leaves out.
func (s *Store) Check(bodies []content.Body) (damaged []content.Body) {
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
			_ = s.damaged(body, err) // what to do about it is the business of who checks
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
func (s *Store) written(body content.Body) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	end, whole := s.tail.end(body.Place().Segment)
	return whole || int64(body.Place().Offset)+recordBytes(body) <= end
}
