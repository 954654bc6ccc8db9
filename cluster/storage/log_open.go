package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"github.com/hashicorp/raft-wal/metadb"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

const (
	// boltLogMmapBytes is mapped from the start: growing the map stops all readers and writers.
	boltLogMmapBytes = 256 << 20
	// boltLockTimeout bounds the wait for a file that another process locks. The lock of the data
	// directory normally prevents that.
	boltLockTimeout = time.Second
)

// Names of the stores that can hold a log.
const (
	LogStoreWAL    = "wal"    // hashicorp/raft-wal: segmented, preallocated
	LogStoreBoltDB = "boltdb" // hashicorp/raft-boltdb/v2: one B+tree file
)

// LogOptions configure a log store.
type LogOptions struct {
	Store         string    // LogStoreWAL or LogStoreBoltDB
	SegmentBytes  int       // preallocated size of one file of the wal
	CacheBytes    int       // newest entries kept in memory
	TrailingBytes int64     // bytes of log kept before the end of a snapshot
	SnapshotBytes int64     // bytes of log after which the next snapshot is due
	Opened        time.Time // noted in files that a crash left unfinished
	// Monotonic times writes; nil: they are not timed.
	Monotonic func() time.Duration
	Logger    hclog.Logger
}

// DefaultLogOptions returns the options of a node without settings.
func DefaultLogOptions() LogOptions {
	return LogOptions{
		Store:         LogStoreWAL,
		SegmentBytes:  64 << 20,
		CacheBytes:    32 << 20,
		TrailingBytes: 256 << 20,
		SnapshotBytes: 256 << 20,
	}
}

// OpenLogStore opens the log in the group's directory.
func OpenLogStore(dir *GroupDir, guard *DiskGuard, options LogOptions) (*LogStore, error) {
	name, other := WALName, BoltName
	if options.Store == LogStoreBoltDB {
		name, other = BoltName, WALName
	}
	if found, err := exists(dir.file(other)); err != nil {
		return nil, err
	} else if found {
		return nil, fmt.Errorf("%s exists: this data directory uses the other log store, start the node with that one", dir.file(other))
	}
	path := dir.file(name)
	if found, err := exists(path); err != nil {
		return nil, err
	} else if !found && dir.HasLog() {
		return nil, guard.Fail(fault.ExitLostData, fmt.Errorf("the log %s is gone: %w; %s", path, ErrLostData, ReplaceNode))
	}
	if !dir.HasLog() && name == BoltName && checkBolt(path) != nil {
		// A power cut during creation left the name without the content. raft-wal is not affected:
		// it renames its file when it is complete.
		if err := guard.Write("begin "+path+" again", func() error { return os.Remove(path) }); err != nil {
			return nil, err
		}
	}
	backend, err := openLogBackend(path, options)
	if err != nil {
		return nil, guard.FailRead(fmt.Errorf("open the log %s: %w", path, err))
	}
	markPath := dir.file(logMarkName)
	mark, err := openLogMark(markPath, !dir.HasLog())
	if err != nil {
		return nil, errors.Join(markError(guard, err), backend.Close())
	}
	store := &LogStore{
		backend:    backend,
		path:       path,
		guard:      guard,
		mark:       mark,
		cache:      &logCache{limit: options.CacheBytes},
		sizes:      newLogSizes(options.TrailingBytes),
		sealer:     entrySealer{keys: dir.node.Keys, sealer: dir.node.Keys.NewSealer(entryPurpose)},
		firstWrite: dir.MarkLog,
		due:        snapshotDue{signal: wakeup.NewSignal()},
		monotonic:  options.Monotonic,
		writes:     histogram.New(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10),
		appendName: "append to the log " + path,
		deleteName: "shorten the log " + path,
	}
	store.due.threshold.Store(options.SnapshotBytes)
	return store, nil
}

func markError(guard *DiskGuard, err error) error {
	if errors.Is(err, ErrLostData) {
		return guard.Fail(fault.ExitLostData, fmt.Errorf("open the end mark of the log: %w; %s", err, ReplaceNode))
	}
	return guard.FailRead(fmt.Errorf("open the end mark of the log: %w", err))
}

// openLogBackend opens a store of a library, which may panic on damaged files.
func openLogBackend(path string, options LogOptions) (backend logBackend, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, broken)
		}
	}()
	if options.Store == LogStoreBoltDB {
		if err := checkBolt(path); err != nil {
			return nil, err
		}
		return raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: boltOptions(boltLogMmapBytes)})
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := checkBolt(filepath.Join(path, metadb.FileName)); err != nil {
		return nil, err
	}
	if err := finishTail(path, options.SegmentBytes, options.Opened); err != nil {
		return nil, err
	}
	return openWAL(path, options)
}

// Verify reads the whole log once, and passes each entry to visit, which may keep it. It checks
// that log and snapshot (its last index; 0: none) join without a gap, that every entry is
// undamaged, and that none is missing at the end. It returns the last index.
func (s *LogStore) Verify(snapshot uint64, marked bool, visit func(*raft.Log) error) (last uint64, err error) {
	first, err := s.FirstIndex()
	if err != nil {
		return 0, err
	}
	last, err = s.LastIndex()
	if err != nil {
		return 0, err
	}
	lost := func(format string, args ...any) error {
		return s.guard.Fail(fault.ExitLostData,
			fmt.Errorf("the log %s: "+format+"; %s", append(append([]any{s.path}, args...), ReplaceNode)...))
	}
	if s.mark.index > last {
		return 0, s.damaged(fmt.Errorf("it ends at entry %d, but entry %d was on disk: %w", last, s.mark.index, errLogCut))
	}
	if last == 0 && snapshot == 0 && marked {
		return 0, lost("it is empty and there is no snapshot: %w", ErrLostData)
	}
	if last > 0 && first > snapshot+1 {
		return 0, lost("it begins at entry %d, but the newest snapshot ends at %d: %w", first, snapshot, ErrLostData)
	}
	term := uint64(0)
	for index := first; index <= last && last > 0; index++ {
		var entry raft.Log
		if err := s.GetLog(index, &entry); err != nil {
			if errors.Is(err, raft.ErrLogNotFound) {
				err = s.damaged(fmt.Errorf("entry %d is missing: %w", index, ErrDamaged))
			}
			return 0, err
		}
		if entry.Term < term {
			return 0, s.damaged(fmt.Errorf("the term decreases at entry %d: %w", index, ErrDamaged))
		}
		term = entry.Term
		s.sizes.add(index, EntryBytes(&entry))
		if index <= snapshot {
			s.due.appended.set(s.sizes.appended())
		}
		if err := visit(&entry); err != nil {
			return 0, err
		}
	}
	s.signalGrown()
	return last, nil
}
