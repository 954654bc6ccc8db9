package bodies

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue/message"
)

// syncBytes are written between two syncs. Otherwise a snapshot would cause one large sync, which
// delays the syncs of the log.
const syncBytes = 16 << 20

// segmentWriter is the goroutine that writes segments.
type segmentWriter struct {
	store    *Store
	file     *directFile // of segment, nil before the first
	segment  uint32
	unsynced int64
	newNames bool // the directory has unsynced names
}

// write writes appended bodies until the Store closes or the disk fails. The remainder is not
// written then.
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
		_ = w.file.Close() // needed bodies were synced
	}
}

// piece is one step of the writer.
type piece struct {
	at    message.Place
	data  []byte // nil: only sync
	large bool   // data has bodies that are written directly
	sync  uint64 // number of the call of Sync that waits for it; 0: none
}

// next waits for the next step.
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
			// A chunk with room waits for more, unless a sync needs it. Bodies after the end of
			// that sync wait until it is done; otherwise it would starve while appends are faster
			// than the disk.
			c := s.tail.unwritten[0]
			at := message.Place{Segment: c.segment, Offset: c.start + uint32(c.written)}
			due := c.full
			if sync > 0 {
				due = comparePlaces(at, s.askedEnd) < 0
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

// comparePlaces orders places as they are written.
func comparePlaces(a, b message.Place) int {
	return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Offset, b.Offset))
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

// begin opens the file of a segment. The previous one is complete.
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

// sync makes all written data durable.
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
		return errors.Join(storage.SyncDir(dir), storage.SyncDir(filepath.Dir(dir)))
	})
	if err == nil {
		w.unsynced, w.newNames = 0, false
	}
	return err
}

// errClosed: the Store is closed.
var errClosed = errors.New("the store of bodies is closed")

// sync returns when all bodies appended before the call are on disk.
func (s *Store) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	mine := s.asked
	s.askedEnd = message.Place{Segment: s.tail.segment, Offset: s.tail.offset}
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
