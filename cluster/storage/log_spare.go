package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	// spareName is the spare file in the directory of a log. The library takes no
	// notice of names that do not end like those of its own.
	spareName = "spare"
	// sparePiece is how much of it is written at a time.
	sparePiece = 1 << 20
	// spareBegins is the part of a file, one in so many, after which the next is made.
	spareBegins = 4
	// spareFor is the average append up to which the next file is made. What larger ones
	// wait for is the disk, which would write twice as much.
	spareFor = 512 << 10
)

// spareFile is the next file of a log. It is made while the one before it fills: its zeros
// are on disk before the library asks for it, so that no append waits until the file system
// has written down where new blocks are.
//
// What an earlier process left under its name is removed and never used: a power cut may
// bring that name back for a file that has become part of the log since.
type spareFile struct {
	dir  string
	size int64

	mu     sync.Mutex
	making sync.WaitGroup
	begun  bool // it is being made, or ready
	ready  bool
	closed bool
}

// newSpareFile makes spare files for a log whose files have size bytes.
func newSpareFile(dir string, size int64) (*spareFile, error) {
	s := &spareFile{dir: dir, size: size}
	if err := os.Remove(s.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

func (s *spareFile) path() string { return filepath.Join(s.dir, spareName) }

// prepare begins to make the file, unless it is ready or being made. If it cannot be made,
// for want of room for instance, the log does without.
func (s *spareFile) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun || s.closed {
		return
	}
	s.begun = true
	s.making.Go(func() {
		err := s.make()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun, s.ready = err == nil, err == nil
	})
}

func (s *spareFile) make() error {
	file, err := os.OpenFile(s.path(), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err = s.fill(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(s.path()))
	}
	return nil
}

// fill writes zeros, one piece at a time, so that the syncs of the log never have many of
// them before them.
func (s *spareFile) fill(file *os.File) error {
	piece := make([]byte, min(sparePiece, s.size))
	for at := int64(0); at < s.size; at += int64(len(piece)) {
		s.mu.Lock()
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return os.ErrClosed
		}
		piece = piece[:min(int64(len(piece)), s.size-at)]
		if _, err := file.WriteAt(piece, at); err != nil {
			return err
		}
		if err := writeOut(file, at, int64(len(piece))); err != nil {
			return err
		}
	}
	return nil
}

// take opens the file under another name, which the next sync of the directory makes
// durable. It returns nil if there is no file of that size.
func (s *spareFile) take(name string, size int64) (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready || size != s.size {
		return nil, nil
	}
	path := filepath.Join(s.dir, name)
	if found, err := exists(path); found || err != nil {
		return nil, errors.Join(err, fs.ErrExist)
	}
	s.begun, s.ready = false, false
	if err := os.Rename(s.path(), path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// close ends what is being made, and removes the file.
func (s *spareFile) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.making.Wait()
	if !s.ready {
		return nil
	}
	s.ready = false
	return os.Remove(s.path())
}
