package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

// logMark records the last index of the log outside the log. The store recovers a log file that was
// cut short without an error, as if its last write had not finished. A node that continued from
// there would have forgotten entries it confirmed, and could help to elect a leader without them.
//
// The mark is written after each append without a sync. After a power cut it may lag behind the
// log, which is harmless, but never lead it: before the log is shortened, the mark is lowered and
// synced.
type logMark struct {
	file  *os.File
	index uint64 // when opened
	// knownCommitted is the committed index that the file had when it was opened; 0: none.
	knownCommitted uint64
	// committed returns the index to write into the mark; nil: knownCommitted.
	committed func() uint64
}

// errLogCut: the log ends before its mark.
var errLogCut = errors.New("the rest of the log is damaged or was cut off")

// A mark fits in one sector: magic, index, committed index, zeros, CRC-32C.
const (
	logMarkMagic = "SRTMMARK"
	logMarkBytes = 32
)

// openLogMark opens the mark, or creates it if there is none and create is set.
func openLogMark(path string, create bool) (*logMark, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil, fmt.Errorf("%s: %w", path, ErrLostData)
		}
		return createLogMark(path)
	}
	if err != nil {
		return nil, err
	}
	var content [logMarkBytes]byte
	if _, err := file.ReadAt(content[:], 0); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, asDamage(err)), file.Close())
	}
	sum := binary.LittleEndian.Uint32(content[logMarkBytes-crc32.Size:])
	if string(content[:8]) != logMarkMagic || crc32.Checksum(content[:logMarkBytes-crc32.Size], castagnoli) != sum {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrDamaged), file.Close())
	}
	mark := &logMark{file: file, index: binary.LittleEndian.Uint64(content[8:]), knownCommitted: binary.LittleEndian.Uint64(content[16:])}
	if mark.knownCommitted > mark.index {
		return nil, errors.Join(fmt.Errorf("%s: entry %d cannot be committed: %w", path, mark.knownCommitted, ErrDamaged), file.Close())
	}
	return mark, nil
}

func createLogMark(path string) (*logMark, error) {
	unfinished := path + ".new"
	if err := writeSynced(unfinished, logMarkContent(0, 0)); err != nil {
		return nil, err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return nil, err
	}
	if err := SyncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return openLogMark(path, false)
}

func logMarkContent(index, committed uint64) []byte {
	content := make([]byte, logMarkBytes)
	copy(content, logMarkMagic)
	binary.LittleEndian.PutUint64(content[8:], index)
	binary.LittleEndian.PutUint64(content[16:], committed)
	sum := crc32.Checksum(content[:logMarkBytes-crc32.Size], castagnoli)
	binary.LittleEndian.PutUint32(content[logMarkBytes-crc32.Size:], sum)
	return content
}

// raise records that the log now ends at index, and how much of it is committed.
func (m *logMark) raise(index uint64) error {
	committed := m.knownCommitted
	if m.committed != nil {
		committed = m.committed()
	}
	_, err := m.file.WriteAt(logMarkContent(index, min(committed, index)), 0)
	return err
}

// lower records durably that the log is about to end at index.
func (m *logMark) lower(index uint64) error {
	return errors.Join(m.raise(index), m.file.Sync())
}

func (m *logMark) close() error { return m.file.Close() }
