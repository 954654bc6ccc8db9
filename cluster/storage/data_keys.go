package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// keysName is the record of the keys that the files of a data directory are encrypted with. It
// holds their ids, so that a node knows which keys it needs before it changes anything.
const keysName = "encryption.json"

type keysRecord struct {
	Keys []usedKey `json:"keys"` // the one in use last
}

type usedKey struct {
	ID string `json:"id"`
	// Segment is the first segment of bodies that was encrypted with it.
	Segment uint32 `json:"segment"`
}

// CheckKeys returns an error that says what to do if a data directory needs a key that is not
// in the Keyring. It reads one file and changes nothing.
func CheckKeys(dataDir string, keys *encryption.Keyring) error {
	record, err := readKeys(dataDir)
	if err != nil {
		return err
	}
	for _, used := range record.Keys {
		id, err := encryption.ParseKeyID(used.ID)
		if err != nil {
			return fmt.Errorf("%s: %w: %w", filepath.Join(dataDir, keysName), ErrDamaged, err)
		}
		if !keys.Has(id) {
			return fmt.Errorf("the data directory %s: %w: key %s", dataDir, encryption.ErrKeyMissing, id)
		}
	}
	return nil
}

func readKeys(dataDir string) (keysRecord, error) {
	record := keysRecord{}
	err := ReadRecord(filepath.Join(dataDir, keysName), &record)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return record, err
}

// NoteKey notes on disk that what is written from now on is encrypted with the active key,
// bodies from a segment on. It reports whether another key was in use before, or none. Without
// keys it does nothing.
func (d *Dir) NoteKey(segment uint32) (changed bool, err error) {
	if d.Keys == nil {
		return false, nil
	}
	record, err := readKeys(d.Path)
	if err != nil {
		return false, err
	}
	active := d.Keys.Active().String()
	if n := len(record.Keys); n > 0 && record.Keys[n-1].ID == active {
		return false, nil
	}
	record.Keys = append(record.Keys, usedKey{ID: active, Segment: segment})
	return true, WriteRecord(d.File(keysName), record)
}
