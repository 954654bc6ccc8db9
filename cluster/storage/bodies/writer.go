package bodies

import (
	"errors"
	"path/filepath"

	"github.com/seriatimq/seriatim/queue/content"
)

// syncBytes is how much is written between two syncs. Without them all that waits for a
// snapshot would be written out at once, and hold back the syncs of the log.
const syncBytes = 16 << 20

// segmentWriter is the goroutine that writes. It alone has the file that is open.
type segmentWriter struct {
	store    *Store
	file     *directFile // of segment, nil before the first
	segment  uint32
	unsynced int64
	newNames bool // the directory has names that are not synced
}

// write writes what is appended until the Store closes or the disk fails. It does not
// write what is left then.
func (s *Store) write() {
	w := segmentWriter{store: s}
	for {
		piece, ok := w.next()
		if !ok {
			break
		}
		if err := w.work(piece); err != nil {
			s.mu.Lock()
			s.failed = err
			s.changed.Broadcast()
			s.mu.Unlock()
			break
		}
	}
	if w.file != nil {
		_ = w.file.Close() // what counts was synced
	}
}

// piece is what the writer does next.
type piece struct {
	at    content.Place
	data  []byte // nil: nothing is left to write before the sync
	large bool   // data has bodies that are written directly
	sync  uint64 // number of the call of Sync that waits for it, zero if none does
}

// next waits for work.
func (w *segmentWriter) next() (piece, bool) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.closed {
			return piece{}, false
		}
		sync := uint64(0)
		if s.asked > s.synced {
			sync = s.asked
		}
		for len(s.tail.unwritten) > 0 && s.tail.unwritten[0].done() {
			s.tail.wrote(0, s.options.CacheBytes)
		}
		if len(s.tail.unwritten) > 0 {
			// A chunk that has room waits for more, unless somebody waits for it. What lies
			// behind waits for the sync, which would else never come while more is appended
			// than the disk takes.
			c := s.tail.unwritten[0]
			at := content.Place{Segment: c.segment, Offset: c.start + uint32(c.written)}
			due := c.full
			if sync > 0 {
				due = before(at, s.askedEnd)
			}
			if due && c.written < len(c.data) {
				return piece{at: at, data: c.data[c.written:], large: c.large}, true
			}
		}
		if sync > 0 {
			return piece{sync: sync}, true
		}
		s.changed.Wait()
	}
}

// before reports whether a lies before b.
func before(a, b content.Place) bool {
	return a.Segment < b.Segment || a.Segment == b.Segment && a.Offset < b.Offset
}

// work writes a piece, or syncs.
func (w *segmentWriter) work(p piece) error {
	s := w.store
	if p.data == nil {
		if err := w.sync(); err != nil {
			return err
		}
		s.mu.Lock()
		s.synced = p.sync
		s.changed.Broadcast()
		s.mu.Unlock()
		return nil
	}
	if w.file == nil || w.segment != p.at.Segment {
		if err := w.begin(p.at.Segment); err != nil {
			return err
		}
	}
	err := s.options.Guard.Write("write bodies to "+w.file.Name(), func() error {
		return w.file.write(p)
	})
	if err != nil {
		return err
	}
	if w.unsynced += int64(len(p.data)); w.unsynced >= syncBytes {
		if err := w.sync(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail.wrote(len(p.data), s.options.CacheBytes)
	s.changed.Broadcast()
	return nil
}

// begin opens the file of a segment. The one before is complete.
func (w *segmentWriter) begin(segment uint32) error {
	if err := w.sync(); err != nil {
		return err
	}
	s := w.store
	err := s.options.Guard.Write("create a segment of bodies in "+s.options.Dir, func() error {
		if w.file != nil {
			if err := w.file.Close(); err != nil {
				return err
			}
		}
		file, err := s.open(segment)
		if err != nil {
			return err
		}
		w.file = &directFile{File: file, direct: openDirect(file.Name())}
		return nil
	})
	if err != nil {
		return err
	}
	w.segment, w.newNames = segment, true
	s.mu.Lock()
	s.files[segment] = true
	s.mu.Unlock()
	return nil
}

// sync brings onto the disk all that was written.
func (w *segmentWriter) sync() error {
	if w.unsynced == 0 && !w.newNames {
		return nil
	}
	dir := w.store.options.Dir
	err := w.store.options.Guard.Write("sync bodies in "+dir, func() error {
		if err := w.file.Sync(); err != nil {
			return err
		}
		if !w.newNames {
			return nil
		}
		return errors.Join(syncDir(dir), syncDir(filepath.Dir(dir)))
	})
	if err == nil {
		w.unsynced, w.newNames = 0, false
	}
	return err
}

// errClosed: the Store was closed.
var errClosed = errors.New("the store of bodies is closed")

// sync returns when everything appended before the call is on disk.
func (s *Store) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	mine := s.asked
	s.askedEnd = content.Place{Segment: s.tail.segment, Offset: s.tail.offset}
	s.changed.Broadcast()
	for s.synced < mine {
		if s.failed != nil {
			return s.failed
		}
		if s.closed {
			return errClosed
		}
		s.changed.Wait()
	}
	return nil
}
