package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	// spareName is the name of the spare file in the log directory. The library ignores files
	// without its own suffixes.
	spareName = "spare"
	// sparePiece is written at a time.
	sparePiece = 1 << 20
	// spareBegins: the next file is made once 1/spareBegins of a file is written.
	spareBegins = 4
	// spareFor is the largest average append for which a spare file is made. Larger appends are
	// limited by the disk, which would write twice as much.
	spareFor = 512 << 10
)

// spareFile is the next file of a log, made while the current one fills. Its zeros are on disk
// before the library needs it, so no append waits for the file system to allocate blocks.
//
// A file that an earlier process left is removed and never used: after a power cut its name may
// refer to a file that has since become part of the log.
type spareFile struct {
	dir  string
	size int64

	mu     sync.Mutex
	making sync.WaitGroup
	begun  bool // being made, or ready
	ready  bool
	closed bool
}

// newSpareFile prepares spare files for a log with files of size bytes.
func newSpareFile(dir string, size int64) (*spareFile, error) {
	s := &spareFile{dir: dir, size: size}
	if err := os.Remove(s.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

func (s *spareFile) path() string { return filepath.Join(s.dir, spareName) }

// prepare starts to make the file, unless it is ready or being made. On failure the log continues
// without it.
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
	if err = s.writeZeros(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(s.path()))
	}
	return nil
}

// writeZeros fills the file in pieces, so that a sync of the log never waits behind many zeros.
func (s *spareFile) writeZeros(file *os.File) error {
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

// claim renames the file and opens it; the next sync of the directory makes the name durable. It
// returns nil if there is no file of that size.
func (s *spareFile) claim(name string, size int64) (*os.File, error) {
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

// close stops the work in progress and removes the file.
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
