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

// logMark remembers the last index of the log outside the log. A log file that
// was cut short looks like one whose last write did not finish, and the store
// recovers it without complaint; a node that goes on from there has forgotten
// entries it confirmed and may help to elect a leader without them. The mark
// tells the two apart.
//
// It is written after each append without a sync of its own, so after a power
// cut it may lag behind the log, which is harmless, but never lead it; before
// the log is shortened it is lowered and synced. A log that loses its beginning
// and gains an end at the same time may be left with the lower of two marks.
type logMark struct {
	file  *os.File
	index uint64 // as it was when opened
	// KnownCommitted is an entry that was committed when the mark was written
	// last before it was opened, with all before it; 0: none is known.
	knownCommitted uint64
	// committed is such an entry now; nil: KnownCommitted still is.
	committed func() uint64
}

// errLogCut: the log ends before its mark.
var errLogCut = errors.New("the rest of the log is damaged or was cut off")

// A mark fits one sector: magic, index, committed index (0 in old ones), zeros, CRC-32C.
const (
	logMarkMagic = "SRTMMARK"
	logMarkBytes = 32
)

// openLogMark opens the mark, or creates it if create is set.
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
	if err := syncDir(filepath.Dir(path)); err != nil {
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

// raise notes that the log now ends at index, and what of it is committed. What
// is committed stays so: a mark that is behind is as true as when it was written.
func (m *logMark) raise(index uint64) error {
	committed := m.knownCommitted
	if m.committed != nil {
		committed = m.committed()
	}
	_, err := m.file.WriteAt(logMarkContent(index, min(committed, index)), 0)
	return err
}

// lower notes durably that the log is about to end at index.
func (m *logMark) lower(index uint64) error {
	return errors.Join(m.raise(index), m.file.Sync())
}

func (m *logMark) close() error { return m.file.Close() }
