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
	spools, err := filepath.Glob(d.File(SpoolPattern))
	for _, spool := range spools {
		err = errors.Join(err, os.RemoveAll(spool))
	}
	return err
}

// MakeSpoolDir makes a directory that is removed at the next start, if it is still there.
func MakeSpoolDir(dataDir string) (path string, err error) {
	return os.MkdirTemp(dataDir, SpoolPattern)
}

// Spool is a file that is written once and read once. It is removed when it was read to its
// end, so that it takes no room for longer than it is needed, or before that by Close. Used
// by one goroutine, but for Close.
type Spool struct {
	file *os.File
	read bool // to its end
	once sync.Once
}

var _ io.ReadWriteCloser = (*Spool)(nil)

// CreateSpool begins a file in a data directory.
func CreateSpool(dataDir string) (*Spool, error) {
	file, err := os.CreateTemp(dataDir, SpoolPattern)
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
		_ = s.Close() // returns nil
	}
	return n, err
}

// Close removes the file. What cannot be removed goes at the next start, so that it is no
// error. More than once is allowed.
func (s *Spool) Close() error {
	s.once.Do(func() { _ = errors.Join(s.file.Close(), os.Remove(s.file.Name())) })
	return nil
}
