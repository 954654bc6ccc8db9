package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// Layout of the library's file snapshot store.
const (
	SnapshotsDir       = "snapshots"
	snapshotMetaName   = "meta.json"
	SnapshotStateName  = "state.bin"
	snapshotUnfinished = ".tmp"
	snapshotsRetained  = 2
)

// DefaultSyncBytes of a snapshot are written between two syncs by default.
const DefaultSyncBytes = 1 << 20

// SnapshotStore is the library's file store with a DiskGuard. The library skips a snapshot with an
// unreadable description, and restores an older one when the newest fails. Both would silently set
// the node back, so here both end the node. The library's description (index, term, members) has no
// checksum: the checked state file begins with a copy of it. Safe for concurrent use.
type SnapshotStore struct {
	inner     *raft.FileSnapshotStore
	path      string
	guard     *DiskGuard
	syncBytes int64
	keys      *encryption.Keyring // nil: nothing is encrypted

	encrypting sync.Mutex
	written    map[*snapshotSink]encryption.KeyID // snapshots being written

	newest  atomic.Pointer[SnapshotEnd] // nil: unknown
	dropped sync.Map                    // names of snapshots that DropOlder removed
}

var _ raft.SnapshotStore = (*SnapshotStore)(nil)

// OpenSnapshotStore opens the snapshots of a group. A snapshot is synced after every syncBytes.
func OpenSnapshotStore(dir *GroupDir, guard *DiskGuard, syncBytes int64, logger hclog.Logger) (*SnapshotStore, error) {
	s := &SnapshotStore{path: dir.file(SnapshotsDir), guard: guard, syncBytes: syncBytes, keys: dir.node.Keys}
	err := guard.Write("open the snapshots in "+s.path, func() (err error) {
		if s.inner, err = raft.NewFileSnapshotStoreWithLogger(filepath.Dir(s.path), snapshotsRetained, logger); err != nil {
			return err
		}
		// The library syncs the names of snapshots, but not that of their folder, which a power cut
		// could remove. After a crash a newest snapshot may also lack its synced name, and older
		// ones are removed for it below.
		return errors.Join(makePrivate(s.path), SyncDir(s.path), SyncDir(filepath.Dir(s.path)))
	})
	if err != nil {
		return nil, err
	}
	if err := s.removeUnfinished(); err != nil {
		return nil, err
	}
	if err := s.finishRemovals(); err != nil {
		return nil, err
	}
	return s, nil
}

// finishRemovals completes removals of old snapshots that a crash interrupted. Files are removed
// one by one. A snapshot gets its name after all its files are synced, and is removed only if there
// is a newer one; any other snapshot that lacks a file is damaged, which Verify reports.
func (s *SnapshotStore) finishRemovals() error {
	names, err := s.names()
	if err != nil {
		return err
	}
	newer := false // a newer one with all files exists
	for _, name := range names {
		dir := filepath.Join(s.path, name)
		whole := true
		for _, file := range []string{snapshotMetaName, SnapshotStateName} {
			if _, err := os.Lstat(filepath.Join(dir, file)); errors.Is(err, fs.ErrNotExist) {
				whole = false
			} else if err != nil {
				return err
			}
		}
		switch {
		case whole:
			newer = true
		case newer:
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// names returns the names of all finished snapshots, newest first.
func (s *SnapshotStore) names() (names []string, err error) {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return nil, err
	}
	type place struct {
		name        string
		term, index uint64
	}
	var places []place
	for _, entry := range entries {
		p := place{name: entry.Name()}
		if n, _ := fmt.Sscanf(p.name, "%d-%d-", &p.term, &p.index); n == 2 && entry.IsDir() &&
			!strings.HasSuffix(p.name, snapshotUnfinished) {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.term, a.term), cmp.Compare(b.index, a.index), cmp.Compare(b.name, a.name))
	})
	for _, p := range places {
		names = append(names, p.name)
	}
	return names, nil
}

// DropOlder removes the snapshots that are older than id, if id is on disk. A node never returns to
// them, and one with inlined bodies takes as much space as all bodies. Open readers are not
// affected.
func (s *SnapshotStore) DropOlder(id string) error {
	return s.guard.Write("remove old snapshots in "+s.path, func() error {
		names, err := s.names()
		if err != nil {
			return err
		}
		kept := slices.Index(names, id)
		if kept < 0 {
			return nil
		}
		for _, name := range names[kept+1:] {
			s.dropped.Store(name, true)
			if err := os.RemoveAll(filepath.Join(s.path, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeUnfinished removes files that crashes left.
func (s *SnapshotStore) removeUnfinished() error {
	names, err := os.ReadDir(s.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name.Name(), snapshotUnfinished) {
			if err := os.RemoveAll(filepath.Join(s.path, name.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Verify checks the description of every snapshot. Call it at the start, before any is removed.
func (s *SnapshotStore) Verify() error {
	names, err := os.ReadDir(s.path)
	if err != nil {
		return s.damaged(s.path, err)
	}
	for _, name := range names {
		if !name.IsDir() {
			continue
		}
		if err := s.checkMeta(name.Name()); err != nil {
			return s.damaged(filepath.Join(s.path, name.Name(), snapshotMetaName), err)
		}
	}
	return nil
}

// SnapshotEnd is the last index of a snapshot and its size. Zero: there is none.
type SnapshotEnd struct {
	Index uint64
	Bytes int64
}

// Newest returns the newest snapshot. A snapshot of this node can finish after a newer one of the
// leader.
func (s *SnapshotStore) Newest() SnapshotEnd {
	if newest := s.newest.Load(); newest != nil {
		return *newest
	}
	return SnapshotEnd{}
}

// finished records a snapshot.
func (s *SnapshotStore) finished(end SnapshotEnd) {
	for {
		newest := s.newest.Load()
		if newest != nil && newest.Index > end.Index || s.newest.CompareAndSwap(newest, &end) {
			return
		}
	}
}

// List returns the descriptions of the snapshots, newest first.
func (s *SnapshotStore) List() ([]*raft.SnapshotMeta, error) {
	metas, err := s.inner.List()
	for i, meta := range metas {
		meta.Size -= int64(len(snapshotHead(meta)))
		if i == 0 {
			s.finished(SnapshotEnd{Index: meta.Index, Bytes: meta.Size})
		}
	}
	return metas, err
}

// checkMeta checks that the library can read the description of a snapshot.
func (s *SnapshotStore) checkMeta(id string) error {
	text, err := os.ReadFile(filepath.Join(s.path, id, snapshotMetaName))
	if err != nil {
		return err
	}
	var meta raft.SnapshotMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if meta.ID != id || meta.Version != 1 {
		return fmt.Errorf("it describes snapshot %q of version %d: %w", meta.ID, meta.Version, ErrDamaged)
	}
	state, err := os.Open(filepath.Join(s.path, id, SnapshotStateName))
	if err != nil {
		return err
	}
	defer func() { _ = state.Close() }() // it was only read
	return checkSnapshotHead(state, &meta)
}

// checkSnapshotHead compares the beginning of a state file with the description. A wrong term or
// index would change the order of snapshots.
func checkSnapshotHead(state io.Reader, meta *raft.SnapshotMeta) error {
	want := snapshotHead(meta)
	head := make([]byte, len(want))
	if _, err := io.ReadFull(state, head); err != nil {
		return fmt.Errorf("%s: %w", SnapshotStateName, asDamage(err))
	}
	if !bytes.Equal(head, want) {
		return fmt.Errorf("%s and %s do not belong together: %w", snapshotMetaName, SnapshotStateName, ErrDamaged)
	}
	return nil
}

// retains reports whether a snapshot is among those kept.
func (s *SnapshotStore) retains(id string) bool {
	if _, dropped := s.dropped.Load(id); dropped {
		return false
	}
	metas, err := s.inner.List()
	return err != nil || len(metas) < snapshotsRetained ||
		slices.ContainsFunc(metas, func(meta *raft.SnapshotMeta) bool { return meta.ID == id })
}

// Create begins a snapshot.
func (s *SnapshotStore) Create(
	version raft.SnapshotVersion, index, term uint64, members raft.Configuration, membersIndex uint64, transport raft.Transport,
) (raft.SnapshotSink, error) {
	sink := &snapshotSink{store: s, index: index}
	err := s.guard.Write("create a snapshot in "+s.path, func() (err error) {
		for taken := true; taken && err == nil; {
			if sink.inner, err = s.inner.Create(version, index, term, members, membersIndex, transport); err != nil {
				break
			}
			// The library names a snapshot after the millisecond. If a leader sends one twice, the
			// name may be taken; the wait also advances simulated time.
			if taken, err = exists(filepath.Join(s.path, sink.inner.ID())); taken && err == nil {
				err = sink.inner.Cancel()
				<-time.After(time.Millisecond)
			}
		}
		if err != nil {
			return err
		}
		return makePrivate(filepath.Join(s.path, sink.inner.ID()+snapshotUnfinished))
	})
	if err != nil {
		return nil, err
	}
	sink.path = filepath.Join(s.path, sink.inner.ID()+snapshotUnfinished, SnapshotStateName)
	head := snapshotHead(&raft.SnapshotMeta{Index: index, Term: term, Configuration: members, ConfigurationIndex: membersIndex})
	if _, err := sink.write(head); err != nil {
		return nil, err
	}
	if s.keys != nil {
		if err := s.encrypt(sink); err != nil {
			return nil, err
		}
	}
	return sink, nil
}

// encrypt starts the encrypted content after the head. Its key is recorded before another key
// becomes visible as active.
func (s *SnapshotStore) encrypt(sink *snapshotSink) error {
	s.encrypting.Lock()
	defer s.encrypting.Unlock()
	writer, err := s.keys.NewWriter(sinkFile{sink}, snapshotPurpose)
	if err != nil {
		return err
	}
	if s.written == nil {
		s.written = map[*snapshotSink]encryption.KeyID{}
	}
	sink.encrypted, s.written[sink] = writer, writer.Key()
	return nil
}

// wrote records that a snapshot is complete or was cancelled.
func (s *SnapshotStore) wrote(sink *snapshotSink) {
	s.encrypting.Lock()
	defer s.encrypting.Unlock()
	delete(s.written, sink)
}

// snapshotPurpose derives the keys of snapshots and backups.
const snapshotPurpose = "seriatim snapshot"

func (s *SnapshotStore) damaged(path string, err error) error {
	return s.guard.FailRead(fmt.Errorf("the snapshot %s cannot be used: %w", path, err))
}

const snapshotHeadMagic = "SRTMSNAP"

// snapshotHead returns the description of a snapshot for the state file: magic, length, index,
// term, index of the members, members, CRC-32C.
func snapshotHead(meta *raft.SnapshotMeta) []byte {
	members := raft.EncodeConfiguration(meta.Configuration)
	head := append(make([]byte, 0, 64+len(members)), snapshotHeadMagic...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(members)))
	head = binary.LittleEndian.AppendUint64(head, meta.Index)
	head = binary.LittleEndian.AppendUint64(head, meta.Term)
	head = binary.LittleEndian.AppendUint64(head, meta.ConfigurationIndex)
	head = append(head, members...)
	return binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
}

// SkipSnapshotHead skips the head of a state file.
func SkipSnapshotHead(content *bufio.Reader) error {
	const fixed = len(snapshotHeadMagic) + 4
	start, err := content.Peek(fixed)
	if err != nil || string(start[:len(snapshotHeadMagic)]) != snapshotHeadMagic {
		return nil // a backup, or empty: the reader of snapshots reports which
	}
	const numbers, sum = 3 * 8, 4
	length := fixed + numbers + int(binary.LittleEndian.Uint32(start[len(snapshotHeadMagic):])) + sum
	if _, err := content.Discard(length); err != nil {
		return fmt.Errorf("%w: the file ends in its description: %w", ErrDamaged, err)
	}
	return nil
}
