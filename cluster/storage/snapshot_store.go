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

// DefaultSyncBytes is how much of a snapshot is written between two syncs if
// nothing else is said.
const DefaultSyncBytes = 1 << 20

// SnapshotStore is the library's file store behind the disk guard. The library
// skips a snapshot whose description it cannot read, and restores an older one
// when the newest fails; both would quietly take the node back in time, so
// here both end the node. The description (index, term, members) has no checksum
// in the library; a copy of it begins the checked state file. Safe for
// concurrent use.
type SnapshotStore struct {
	inner     *raft.FileSnapshotStore
	path      string
	guard     *DiskGuard
	syncBytes int64
	keys      *encryption.Keyring // nil: nothing is encrypted

	encrypting sync.Mutex
	written    map[*snapshotSink]encryption.KeyID // those that are being written

	newest  atomic.Pointer[SnapshotEnd] // nil: none is known
	dropped sync.Map                    // names of snapshots that DropOlder removed
}

var _ raft.SnapshotStore = (*SnapshotStore)(nil)

// OpenSnapshotStore opens the snapshots of a group. While one is written it is
// synced after every syncBytes.
func OpenSnapshotStore(dir *GroupDir, guard *DiskGuard, syncBytes int64, logger hclog.Logger) (*SnapshotStore, error) {
	s := &SnapshotStore{path: dir.file(SnapshotsDir), guard: guard, syncBytes: syncBytes, keys: dir.node.Keys}
	err := guard.Write("open the snapshots in "+s.path, func() (err error) {
		if s.inner, err = raft.NewFileSnapshotStoreWithLogger(filepath.Dir(s.path), snapshotsRetained, logger); err != nil {
			return err
		}
		// The library syncs the names of snapshots, but not that of the folder they are
		// in: without it a power cut could take all of them. And where it was killed
		// before it synced the name of one, an older one is removed for it below.
		return errors.Join(makePrivate(s.path), syncDir(s.path), syncDir(filepath.Dir(s.path)))
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

// finishRemovals clears away old snapshots whose removal a crash broke off. The
// files are removed one by one. A snapshot gets its name when all its files are there
// and synced, and is removed only behind a newer one; one that lacks a file without
// that is damage, which verify reports.
func (s *SnapshotStore) finishRemovals() error {
	names, err := s.names()
	if err != nil {
		return err
	}
	newer := false // one with all files
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

// names are those of all finished snapshots, newest first.
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
		if n, _ := fmt.Sscanf(p.name, "%d-%d-", &p.term, &p.index); n == 2 && entry.IsDir() && !strings.HasSuffix(p.name, snapshotUnfinished) {
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

// DropOlder removes the snapshots that are older than one that is on disk. A node never
// goes back to them, and one that came with bodies in it takes as much space as all of
// them. Whoever reads one reads on.
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

// removeUnfinished clears away what crashes left behind.
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

// Verify makes sure that every snapshot describes itself rightly. It runs at
// the start, when nothing removes old ones.
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

// SnapshotEnd says where a snapshot ends, and how large it is. Zero: there is none.
type SnapshotEnd struct {
	Index uint64
	Bytes int64
}

// Newest is the newest snapshot, whichever was finished last: one of this node, written
// at leisure, may be finished after a newer one of the leader.
func (s *SnapshotStore) Newest() SnapshotEnd {
	if newest := s.newest.Load(); newest != nil {
		return *newest
	}
	return SnapshotEnd{}
}

// finished notes a snapshot.
func (s *SnapshotStore) finished(end SnapshotEnd) {
	for {
		newest := s.newest.Load()
		if newest != nil && newest.Index > end.Index || s.newest.CompareAndSwap(newest, &end) {
			return
		}
	}
}

// List describes the snapshots, newest first.
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

// checkMeta makes sure that the library will not overlook a snapshot.
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

// checkSnapshotHead reads the beginning of a state file and compares it with
// the description. A wrong term or index would change which is the newest.
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

// retains reports whether a snapshot is among those that are kept.
func (s *SnapshotStore) retains(id string) bool {
	if _, dropped := s.dropped.Load(id); dropped {
		return false
	}
	metas, err := s.inner.List()
	return err != nil || len(metas) < snapshotsRetained || slices.ContainsFunc(metas, func(meta *raft.SnapshotMeta) bool { return meta.ID == id })
}

// Create begins a snapshot.
func (s *SnapshotStore) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration, membersIndex uint64, transport raft.Transport) (raft.SnapshotSink, error) {
	sink := &snapshotSink{store: s, index: index}
	err := s.guard.Write("create a snapshot in "+s.path, func() (err error) {
		for taken := true; taken && err == nil; {
			if sink.inner, err = s.inner.Create(version, index, term, members, membersIndex, transport); err != nil {
				break
			}
			// The library names it after the millisecond, in which there may be one with the
			// same end if a leader sends one twice: the next has no other. Where time stands
			// still while somebody works, as in a simulation, it comes only to who waits.
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

// encrypt begins what is behind the head of a snapshot. Its key is noted before anybody can
// learn that another key has become active.
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

// wrote says that a snapshot is complete, or was given up.
func (s *SnapshotStore) wrote(sink *snapshotSink) {
	s.encrypting.Lock()
	defer s.encrypting.Unlock()
	delete(s.written, sink)
}

// snapshotPurpose names the derived keys of snapshots and backups.
const snapshotPurpose = "seriatim snapshot"

func (s *SnapshotStore) damaged(path string, err error) error {
	return s.guard.FailRead(fmt.Errorf("the snapshot %s cannot be used: %w", path, err))
}

const snapshotHeadMagic = "SRTMSNAP"

// snapshotHead is the description of a snapshot as it begins the state file:
// magic, length, index, term, index of the members, members, CRC-32C.
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

// SkipSnapshotHead passes over what a state file has in front of the snapshot.
func SkipSnapshotHead(content *bufio.Reader) error {
	const fixed = len(snapshotHeadMagic) + 4
	start, err := content.Peek(fixed)
	if err != nil || string(start[:len(snapshotHeadMagic)]) != snapshotHeadMagic {
		return nil // a backup, or nothing: the reader of snapshots says which
	}
	const numbers, sum = 3 * 8, 4
	length := fixed + numbers + int(binary.LittleEndian.Uint32(start[len(snapshotHeadMagic):])) + sum
	if _, err := content.Discard(length); err != nil {
		return fmt.Errorf("%w: the file ends in its description: %w", ErrDamaged, err)
	}
	return nil
}
