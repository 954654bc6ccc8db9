package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// SpoolPattern names what a restore keeps in the data directory: the backup on its way in,
// a directory with its bodies, and the state to be restored.
const SpoolPattern = "restore-*.tmp"

// RemoveSpools removes what crashes left behind.
func RemoveSpools(d *Dir) error {
	entries, err := os.ReadDir(d.Path)
	for _, entry := range entries {
		spool, bad := filepath.Match(SpoolPattern, entry.Name())
		if err = errors.Join(err, bad); spool {
			err = errors.Join(err, os.RemoveAll(d.File(entry.Name())))
		}
	}
	return err
}

// MakeSpoolDir makes a directory that is removed at the next start, if it is still there.
func MakeSpoolDir(dataDir string) (path string, err error) {
	return os.MkdirTemp(dataDir, SpoolPattern)
}

// Spool is a file that is written once and read once. It is removed when it was read to its
// end, so that it takes no room for longer than it is needed, or before that by Close. Used
// by one goroutine, but for Close and Remove.
type Spool struct {
	file *os.File
	read bool // to its end

	once sync.Once
	left error // why it is still there
}

var _ io.ReadWriteCloser = (*Spool)(nil)

// CreateSpool begins a file in a data directory.
func CreateSpool(dataDir string) (*Spool, error) { return createSpool(dataDir, SpoolPattern) }

func createSpool(dir, pattern string) (*Spool, error) {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &Spool{file: file}, nil
}

// Write adds to the file.
func (s *Spool) Write(p []byte) (int, error) { return s.file.Write(p) }

// Rewind has Read begin with the first byte, and returns how many were written.
func (s *Spool) Rewind() (size int64, err error) {
	size, err = s.file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	return size, err
}

// Read reads what was written, after Rewind.
func (s *Spool) Read(p []byte) (int, error) {
	if s.read {
		return 0, io.EOF
	}
	n, err := s.file.Read(p)
	if errors.Is(err, io.EOF) {
		s.read = true
		_ = s.Remove() // the next call says so
	}
	return n, err
}

// Close is Remove for whom a file that is still there is no error: it goes at the next start.
func (s *Spool) Close() error {
	_ = s.Remove() // see above
	return nil
}

// Remove removes the file. Each call returns what came of it.
func (s *Spool) Remove() error {
	s.once.Do(func() {
		_ = s.file.Close() // nobody wants to know whether all of it was written
		s.left = os.Remove(s.file.Name())
	})
	return s.left
}
