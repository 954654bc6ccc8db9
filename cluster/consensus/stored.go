package consensus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// Stored is the log and the snapshots of a stopped group. Used by one goroutine.
type Stored struct {
	dir       *storage.GroupDir
	guard     *storage.DiskGuard
	log       *storage.LogStore
	snapshots *storage.SnapshotStore
	logger    hclog.Logger
}

// StoredEntry is one entry of the log.
type StoredEntry struct {
	Index   uint64
	Term    uint64
	Kind    EntryKind
	Data    []byte
	Members []StoredMember // of a configuration
}

// EntryKind is the type of a log entry.
type EntryKind uint8

// The types of log entries.
const (
	EntryCommand       = EntryKind(raft.LogCommand)       // commands of the state machine
	EntryNoop          = EntryKind(raft.LogNoop)          // the first of a leader's term
	EntryBarrier       = EntryKind(raft.LogBarrier)       // empty, to wait for
	EntryConfiguration = EntryKind(raft.LogConfiguration) // the members
)

// String returns the name of the kind.
func (k EntryKind) String() string {
	switch k {
	case EntryCommand:
		return "command"
	case EntryNoop:
		return "noop"
	case EntryBarrier:
		return "barrier"
	case EntryConfiguration:
		return "configuration"
	default:
		return fmt.Sprintf("type %d", uint8(k))
	}
}

// StoredMember is a member of a stored configuration.
type StoredMember struct {
	NodeID string
	Voter  bool
}

// StoredSnapshot describes a snapshot.
type StoredSnapshot struct {
	ID      string
	Index   uint64 // of the last entry in it
	Term    uint64 // of that entry
	Bytes   int64
	Members []StoredMember
}

// OpenStored opens the log and the snapshots in dir. The log must exist.
func OpenStored(ctx context.Context, dir *storage.GroupDir, guard *storage.DiskGuard, clock environment.Clock,
	logger *slog.Logger) (*Stored, error) {
	s := &Stored{dir: dir, guard: guard, logger: storage.NewLibraryLogger(ctx, logger)}
	options := storage.DefaultLogOptions()
	options.Opened, options.Logger = clock.Wall(), s.logger
	var err error
	if options.Store, err = dir.LogStoreFound(); err != nil {
		return nil, err
	}
	if s.log, err = storage.OpenLogStore(dir, guard, options); err != nil {
		return nil, err
	}
	if s.snapshots, err = storage.OpenSnapshotStore(dir, guard, storage.DefaultSyncBytes, s.logger); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the files.
func (s *Stored) Close() error { return s.log.Close() }

// Bounds returns the indexes of the oldest and the newest entry; 0 if there is none.
func (s *Stored) Bounds() (first, last uint64, err error) {
	if first, err = s.log.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = s.log.LastIndex()
	return first, last, err
}

// Entry reads the entry at index. For a damaged one it returns the readable part with the error.
func (s *Stored) Entry(index uint64) (StoredEntry, error) {
	var entry raft.Log
	err := s.log.GetStored(index, &entry)
	stored := StoredEntry{Index: index, Term: entry.Term, Kind: EntryKind(entry.Type), Data: entry.Data}
	if err == nil && entry.Type == raft.LogConfiguration {
		stored.Members = storedMembers(raft.DecodeConfiguration(entry.Data))
	}
	return stored, err
}

// Snapshots returns the snapshots, newest first, after checking their descriptions.
func (s *Stored) Snapshots() ([]StoredSnapshot, error) {
	if err := s.snapshots.Verify(); err != nil {
		return nil, err
	}
	metas, err := s.snapshots.List()
	if err != nil {
		return nil, err
	}
	list := make([]StoredSnapshot, 0, len(metas))
	for _, meta := range metas {
		list = append(list, StoredSnapshot{ID: meta.ID, Index: meta.Index, Term: meta.Term, Bytes: meta.Size,
			Members: storedMembers(meta.Configuration)})
	}
	return list, nil
}

// OpenSnapshot opens a snapshot after checking its whole content.
func (s *Stored) OpenSnapshot(id string) (io.ReadCloser, error) {
	_, content, err := s.snapshots.Open(id)
	return content, err
}

// Replay applies the entries from one index to another, inclusive, to a state machine that has
// applied those before.
func (s *Stored) Replay(machine *fsm.FSM, from, to uint64) error {
	for index := from; index <= to; index++ {
		var entry raft.Log
		if err := s.log.GetLog(index, &entry); err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		if entry.Type == raft.LogCommand || entry.Type == raft.LogConfiguration {
			machine.ApplyBatch([]*raft.Log{&entry})
		}
	}
	return nil
}

func storedMembers(configuration raft.Configuration) []StoredMember {
	members := make([]StoredMember, 0, len(configuration.Servers))
	for _, server := range configuration.Servers {
		members = append(members, StoredMember{NodeID: string(server.ID), Voter: server.Suffrage == raft.Voter})
	}
	return members
}
