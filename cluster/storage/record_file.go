package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged: the bytes on disk differ from those that were written. The file cannot be repaired
// from other data of this node.
var ErrDamaged = errors.New("damaged: the checksum does not match")

// WriteRecord replaces the file by the JSON of value and its CRC-32C. A crash leaves either the old
// or the new content.
func WriteRecord(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	text = fmt.Appendf(text, "\n%08x\n", crc32.Checksum(text, castagnoli))
	unfinished := path + ".new"
	if err := writeSynced(unfinished, text); err != nil {
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// ReadRecord reads a file of WriteRecord. The error wraps fs.ErrNotExist if there is none, and
// ErrDamaged if its checksum is wrong.
func ReadRecord(path string, value any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := ParseRecord(content, value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readOptional reads a file of WriteRecord, and leaves value as it is if there is none.
func readOptional(path string, value any) error {
	if err := ReadRecord(path, value); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ParseRecord parses the content of a file of WriteRecord.
func ParseRecord(content []byte, value any) error {
	text, rest, found := bytes.Cut(content, []byte("\n"))
	if !found || string(rest) != fmt.Sprintf("%08x\n", crc32.Checksum(text, castagnoli)) {
		return ErrDamaged
	}
	return json.Unmarshal(text, value)
}

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Modes of files in a data directory: only the user of the node has access.
const (
	privateFile   fs.FileMode = 0o600
	privateFolder fs.FileMode = 0o700
)

// makePrivate removes the access of other users from a folder and its content: the libraries make
// files that every user can read.
func makePrivate(path string) error {
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil {
			mode := privateFile
			if entry.IsDir() {
				mode = privateFolder
			}
			err = os.Chmod(name, mode)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		return err
	})
}
