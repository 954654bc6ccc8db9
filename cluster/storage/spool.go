package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// SpoolPattern matches the files of a restore in the data directory: the uploaded backup, a
// directory with its bodies, and the state to restore.
const SpoolPattern = "restore-*.tmp"

// RemoveSpools removes files that crashes left.
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

// MakeSpoolDir makes a directory that the next start removes.
func MakeSpoolDir(dataDir string) (path string, err error) {
	return os.MkdirTemp(dataDir, SpoolPattern)
}

// Spool is a temporary file that is written once and read once. Reading it to its end, or Close,
// removes it. One goroutine uses it; only Close and Remove are safe for concurrent use.
type Spool struct {
	file *os.File
	read bool // to the end

	keys    *encryption.Keyring // nil: unencrypted
	written int64
	writer  *encryption.Writer
	reader  io.Reader // decrypts file after Rewind

	once sync.Once
	left error // result of the removal
}

var _ io.ReadWriteCloser = (*Spool)(nil)

// CreateSpool creates a file in a data directory, encrypted if keys is not nil.
func CreateSpool(dataDir string, keys *encryption.Keyring) (*Spool, error) {
	return createSpool(dataDir, SpoolPattern, keys)
}

// spoolPurpose derives the keys of these files.
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

// Write appends to the file.
func (s *Spool) Write(p []byte) (n int, err error) {
	if s.writer != nil {
		n, err = s.writer.Write(p)
	} else {
		n, err = s.file.Write(p)
	}
	s.written += int64(n)
	return n, err
}

// Rewind makes Read start at the first byte, and returns the number of bytes written. Do not write
// after it.
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

// Read reads the content after Rewind.
func (s *Spool) Read(p []byte) (int, error) {
	if s.read {
		return 0, io.EOF
	}
	n, err := s.reader.Read(p)
	if errors.Is(err, io.EOF) {
		s.read = true
		_ = s.Remove() // a later call of Remove returns the error
	}
	return n, err
}

// Close removes the file. It never fails: the next start removes a file that remains.
func (s *Spool) Close() error {
	_ = s.Remove() // the next start removes it
	return nil
}

// Remove removes the file. Each call returns the result of the first.
func (s *Spool) Remove() error {
	s.once.Do(func() {
		_ = s.file.Close() // the content is not needed any more
		s.left = os.Remove(s.file.Name())
	})
	return s.left
}
