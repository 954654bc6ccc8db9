package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// keysName is the record of the key ids that the data directory needs, so that a node can check
// them before it changes anything.
const keysName = "encryption.json"

type keysRecord struct {
	Keys []usedKey `json:"keys"` // the active one last
	// PlainLog is the last entry that the log may hold unencrypted; 0: none.
	PlainLog uint64 `json:"plainLog,omitempty"`
}

// usedKey records the segments that may hold bodies encrypted with a key.
type usedKey struct {
	ID      string `json:"id"`
	Segment uint32 `json:"segment"`          // the first
	Before  uint32 `json:"before,omitempty"` // the first after them; 0: the key is active
}

// mayHave reports whether a segment may hold bodies encrypted with the key.
func (k *usedKey) mayHave(segment uint32) bool {
	return segment >= k.Segment && (k.Before == 0 || segment < k.Before)
}

// find returns the entry of a key. A missing entry is added without segments.
func (r *keysRecord) find(id string) *usedKey {
	i := slices.IndexFunc(r.Keys, func(k usedKey) bool { return k.ID == id })
	if i < 0 {
		i, r.Keys = 0, slices.Insert(r.Keys, 0, usedKey{ID: id, Segment: math.MaxUint32, Before: 1})
	}
	return &r.Keys[i]
}

// use makes a key the active one, for bodies from a segment on.
func (r *keysRecord) use(id string, segment uint32) {
	used := *r.find(id)
	r.Keys = slices.DeleteFunc(r.Keys, func(k usedKey) bool { return k.ID == id })
	used.Segment, used.Before = min(used.Segment, segment), 0
	r.Keys = append(r.Keys, used)
}

// endOthers ends the use of all keys but id: they encrypt no body in segments from before on.
func (r *keysRecord) endOthers(id string, before uint32) {
	for i := range r.Keys {
		if k := &r.Keys[i]; k.ID != id && k.Before == 0 {
			k.Before = before
		}
	}
}

// CheckKeys returns an error that says what to do if the data directory needs a key that is missing
// from keys. It changes nothing.
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

func readKeys(dataDir string) (record keysRecord, err error) {
	err = readOptional(filepath.Join(dataDir, keysName), &record)
	return record, err
}

// changeKeys updates the record of the keys on disk.
func (d *Dir) changeKeys(change func(*keysRecord)) error {
	d.recording.Lock()
	defer d.recording.Unlock()
	record, err := readKeys(d.Path)
	if err != nil {
		return err
	}
	before := keysRecord{Keys: slices.Clone(record.Keys), PlainLog: record.PlainLog}
	change(&record)
	if slices.Equal(record.Keys, before.Keys) && record.PlainLog == before.PlainLog {
		return nil
	}
	return WriteRecord(d.File(keysName), record)
}

// NoteKey records that the active key encrypts everything written from now on, and bodies from a
// segment on that no earlier run wrote to. Call it before the first write. It reports whether the
// active key changed. Without keys it does nothing.
func (d *Dir) NoteKey(segment uint32, hasLog bool) (changed bool, err error) {
	if d.Keys == nil {
		return false, nil
	}
	active := d.Keys.Active().String()
	err = d.changeKeys(func(record *keysRecord) {
		n := len(record.Keys)
		changed = n == 0 || record.Keys[n-1].ID != active
		if n == 0 && hasLog { // the log is unencrypted, or the record is lost
			record.PlainLog = math.MaxUint64
			for _, id := range d.Keys.IDs() {
				*record.find(id.String()) = usedKey{ID: id.String(), Before: segment}
			}
		}
		record.use(active, segment)
		record.endOthers(active, segment)
	})
	return changed, err
}

// BeginKey records that a further key may encrypt data from now on, and bodies from a segment on.
func (d *Dir) BeginKey(id encryption.KeyID, segment uint32) error {
	return d.changeKeys(func(record *keysRecord) { record.use(id.String(), segment) })
}

// EndKeys records that only this key encrypts data from now on, and bodies in segments from before
// on.
func (d *Dir) EndKeys(id encryption.KeyID, before uint32) error {
	return d.changeKeys(func(record *keysRecord) { record.endOthers(id.String(), before) })
}

// NoteHealing records that a body in a segment is rewritten with a key.
func (d *Dir) NoteHealing(id encryption.KeyID, segment uint32) error {
	return d.changeKeys(func(record *keysRecord) {
		used := record.find(id.String())
		used.Segment = min(used.Segment, segment)
		if used.Before != 0 {
			used.Before = max(used.Before, segment+1)
		}
	})
}

// Files lists the keys that the files of a group are encrypted with.
type Files struct {
	Log       map[encryption.KeyID]uint64 // with the last log entry
	LogBegins uint64                      // the first entry that the files of the log may hold
	LogEnds   uint64
	Snapshots map[encryption.KeyID]int // with the number of snapshots; the zero KeyID: unencrypted
	Segments  []uint32                 // with encrypted bodies
	Plain     []uint32                 // with unencrypted bodies
}

// KeyUse lists the data that is encrypted with a key.
type KeyUse struct {
	ID        encryption.KeyID
	Log       uint64 // the last log entry; 0: none
	Segments  int    // of bodies, at most
	Snapshots int
}

// Needed reports whether any data is encrypted with the key.
func (u KeyUse) Needed() bool { return u.Log > 0 || u.Segments > 0 || u.Snapshots > 0 }

// ForgetKeys compares the record of the keys with the files, and removes keys that encrypt nothing
// any more, except the active one. It returns the remaining keys, and the last entry that the log
// may hold unencrypted.
func (d *Dir) ForgetKeys(files Files) (uses []KeyUse, plainLog uint64, err error) {
	active := d.Keys.Active()
	err = d.changeKeys(func(record *keysRecord) {
		for _, ids := range []iter.Seq[encryption.KeyID]{maps.Keys(files.Log), maps.Keys(files.Snapshots)} {
			for id := range ids {
				if id != (encryption.KeyID{}) {
					record.find(id.String()) // a tool may have written with it while the node was stopped
				}
			}
		}
		kept := []usedKey{}
		for _, used := range record.Keys {
			id, err := encryption.ParseKeyID(used.ID)
			if err != nil {
				continue // CheckKeys has read it
			}
			use := KeyUse{ID: id, Log: files.Log[id], Snapshots: files.Snapshots[id]}
			for _, segment := range files.Segments {
				if used.mayHave(segment) {
					use.Segments++
				}
			}
			if id == active || use.Needed() {
				kept, uses = append(kept, used), append(uses, use)
			}
		}
		record.Keys = kept
		if record.PlainLog = min(record.PlainLog, files.LogEnds); record.PlainLog < files.LogBegins {
			record.PlainLog = 0
		}
		plainLog = record.PlainLog
	})
	return uses, plainLog, err
}

// Keys counts the snapshots per key, including those being written. The zero KeyID stands for
// unencrypted ones.
func (s *SnapshotStore) Keys() (counts map[encryption.KeyID]int, err error) {
	counts = map[encryption.KeyID]int{}
	s.encrypting.Lock()
	for _, id := range s.written {
		counts[id]++
	}
	s.encrypting.Unlock()
	names, err := s.names() // after that: a snapshot that was completed meanwhile has a name
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		id, err := snapshotKey(filepath.Join(s.path, name, SnapshotStateName))
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			return nil, err
		default:
			counts[id]++
		}
	}
	return counts, nil
}

// snapshotKey returns the key of a state file; the zero KeyID if it is unencrypted.
func snapshotKey(path string) (id encryption.KeyID, err error) {
	file, err := os.Open(path)
	if err != nil {
		return id, err
	}
	defer func() { _ = file.Close() }() // it was only read
	content := bufio.NewReader(file)
	if err := SkipSnapshotHead(content); err != nil {
		return id, err
	}
	head, err := content.Peek(encryption.StreamHeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return id, err
	}
	id, _ = encryption.StreamKey(head)
	return id, nil
}
