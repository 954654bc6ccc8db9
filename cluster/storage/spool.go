package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
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

	keys    *encryption.Keyring // nil: it is not encrypted
	written int64
	writer  *encryption.Writer
	reader  io.Reader // file, decrypted, after Rewind

	once sync.Once
	left error // why it is still there
}

var _ io.ReadWriteCloser = (*Spool)(nil)

// CreateSpool begins a file in a data directory, encrypted if there are keys.
func CreateSpool(dataDir string, keys *encryption.Keyring) (*Spool, error) {
	return createSpool(dataDir, SpoolPattern, keys)
}

// spoolPurpose names the derived keys of these files.
const spoolPurpose = "seriatim spool"

func createSpool(dir, pattern string, keys *encryption.Keyring) (*Spool, error) {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	s := &Spool{file: file, keys: keys, reader: file}
	if keys != nil {
		if s.writer, err = keys.NewWriter(file, spoolPurpose); err != nil {
			return nil, errors.Join(err, s.Remove())
		}
	}
	return s, nil
}

// Write adds to the file.
func (s *Spool) Write(p []byte) (n int, err error) {
	if s.writer != nil {
		n, err = s.writer.Write(p)
	} else {
		n, err = s.file.Write(p)
	}
	s.written += int64(n)
	return n, err
}

// Rewind has Read begin with the first byte, and returns how many were written. Nothing is
// written after it.
func (s *Spool) Rewind() (size int64, err error) {
	if s.writer != nil {
		if err := s.writer.Close(); err != nil {
			return 0, err
		}
		s.writer = nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	if s.keys != nil {
		s.reader, err = s.keys.NewReader(s.file, spoolPurpose)
	}
	return s.written, err
}

// Read reads what was written, after Rewind.
func (s *Spool) Read(p []byte) (int, error) {
	if s.read {
		return 0, io.EOF
	}
	n, err := s.reader.Read(p)
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
