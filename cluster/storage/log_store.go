package storage

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/histogram"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// logBackend is a log store of a library.
type logBackend interface {
	raft.LogStore
	io.Closer
}

// LogStore is the log of the consensus library: a library's store with checksums, a DiskGuard, a
// mark of its end, and a cache bounded in bytes. Safe for concurrent use, with one writer.
type LogStore struct {
	backend logBackend
	path    string // named in errors
	guard   *DiskGuard
	mark    *logMark
	cache   *logCache
	sizes   *logSizes
	sealer  entrySealer

	// firstWrite runs after each append, and does its work once.
	firstWrite func() error

	truncating atomic.Uint64            // end of an installed snapshot, see log_truncation.go
	boundary   atomic.Pointer[raft.Log] // entry before the log, see log_boundary.go

	due snapshotDue

	monotonic func() time.Duration // nil: writes are not timed
	writes    *histogram.Histogram // seconds that appending took

	appendName string // names of the operations in errors, built once
	deleteName string
}

var (
	_ raft.LogStore          = (*LogStore)(nil)
	_ raft.MonotonicLogStore = (*LogStore)(nil)
)

// IsMonotonic returns true for both backends. The wal accepts no gaps. For bbolt it makes the
// library wipe the log after installing a snapshot: kept entries could contradict the snapshot, and
// the leader would send it for ever (raft issue 697). log_truncation.go handles the rest of that
// issue.
func (s *LogStore) IsMonotonic() bool { return true }

// FirstIndex returns the index of the oldest entry; 0 if there is none.
func (s *LogStore) FirstIndex() (uint64, error) {
	index, err := s.backend.FirstIndex()
	return index, s.readError(err)
}

// LastIndex returns the index of the newest entry; 0 if there is none.
func (s *LogStore) LastIndex() (uint64, error) {
	index, err := s.backend.LastIndex()
	return index, s.readError(err)
}

// GetLog reads one entry. Every error but raft.ErrLogNotFound ends the node.
func (s *LogStore) GetLog(index uint64, entry *raft.Log) error {
	if s.cache.get(index, entry) || s.staleEntry(index, entry) {
		return nil
	}
	err := readEntry(s.backend, index, entry)
	if errors.Is(err, raft.ErrLogNotFound) && s.holds(index) {
		// While a replaced leader still reads entries to send, the new leader may have replaced the
		// entry between the two reads.
		err = readEntry(s.backend, index, entry)
	}
	if errors.Is(err, raft.ErrLogNotFound) {
		if s.holds(index) {
			return s.damaged(fmt.Errorf("entry %d is missing: %w", index, ErrDamaged))
		}
		if s.boundaryEntry(index, entry) {
			return nil
		}
		return raft.ErrLogNotFound
	}
	if err != nil {
		return s.readError(err)
	}
	if err := s.sealer.unseal(index, entry); err != nil {
		return s.damaged(err)
	}
	return nil
}

// readEntry reads from a backend, whose decoders panic on some damaged input.
func readEntry(backend logBackend, index uint64, entry *raft.Log) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("entry %d cannot be decoded: %w (%v)", index, ErrDamaged, broken)
		}
	}()
	return backend.GetLog(index, entry)
}

// holds reports whether index should be in the log. Call it after a read found nothing, so that an
// entry compacted meanwhile does not count.
func (s *LogStore) holds(index uint64) bool {
	first, err := s.backend.FirstIndex()
	if err != nil || first == 0 || index < first {
		return false
	}
	last, err := s.backend.LastIndex()
	return err == nil && index <= last
}

// StoreLog appends one entry.
func (s *LogStore) StoreLog(entry *raft.Log) error { return s.StoreLogs([]*raft.Log{entry}) }

// StoreLogs appends entries. When it returns nil, they are on disk.
func (s *LogStore) StoreLogs(entries []*raft.Log) error {
	if len(entries) == 0 {
		return nil
	}
	s.truncating.Store(0)
	if truncates(entries) {
		return nil
	}
	sealed := s.sealer.seal(entries)
	defer s.timed()()
	err := s.guard.Write(s.appendName, func() error {
		if err := s.backend.StoreLogs(sealed); err != nil {
			return err
		}
		if err := s.mark.raise(entries[len(entries)-1].Index); err != nil {
			return err
		}
		return s.firstWrite()
	})
	if err != nil {
		return err
	}
	s.cache.add(entries)
	for _, entry := range entries {
		s.sizes.add(entry.Index, EntryBytes(entry))
	}
	s.signalGrown()
	return nil
}

// timed starts to time a write, and returns the function that ends it.
func (s *LogStore) timed() (ended func()) {
	if s.monotonic == nil {
		return func() {}
	}
	began := s.monotonic()
	return func() { s.writes.Observe((s.monotonic() - began).Seconds()) }
}

// Writes returns the durations of appends in seconds, each with the sync of the file.
func (s *LogStore) Writes() *histogram.Histogram { return s.writes }

// DeleteRange removes entries from the beginning or from the end of the log.
func (s *LogStore) DeleteRange(from, to uint64) error {
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	if last == 0 {
		return nil
	}
	end := s.compactedEnd(from, to, first, last)
	s.cache.forget()
	err = s.guard.Write(s.deleteName, func() error {
		if to >= last {
			end := uint64(0)
			if from > first {
				end = from - 1
			}
			if err := s.mark.lower(end); err != nil {
				return err
			}
		}
		return s.backend.DeleteRange(from, to)
	})
	// No reader can refill the cache between forget and the deletion: only StoreLogs adds to it,
	// and the library does not append while it deletes from the end.
	if to >= last {
		s.sizes.forgetFrom(from)
	} else {
		s.sizes.forgetBefore(to + 1)
	}
	if err == nil && end != nil {
		s.boundary.Store(end)
	}
	return err
}

// Kind returns the type of the entry at index.
func (s *LogStore) Kind(index uint64) (raft.LogType, error) {
	var entry raft.Log
	err := s.GetLog(index, &entry)
	return entry.Type, err
}

// Appended returns the bytes appended since the store was opened, plus those in the log at that time.
func (s *LogStore) Appended() int64 { return s.sizes.appended() }

// Trailing returns the number of entries, counted back from last, that hold about bytes.
func (s *LogStore) Trailing(last uint64, bytes int64) uint64 { return s.sizes.trailing(last, bytes) }

// EndedAt returns the index of an entry that an earlier process has written. A log that ends before
// it was damaged or cut off.
func (s *LogStore) EndedAt() uint64 { return s.mark.index }

// KnownCommitted returns the committed index that an earlier process has recorded; 0: none.
func (s *LogStore) KnownCommitted() uint64 { return s.mark.knownCommitted }

// NoteCommitted makes the store record the result of committed with each append. Call it before the
// first append.
func (s *LogStore) NoteCommitted(committed func() uint64) { s.mark.committed = committed }

// GetStored reads an entry from disk. Damage does not end the node.
func (s *LogStore) GetStored(index uint64, entry *raft.Log) error {
	if err := readEntry(s.backend, index, entry); err != nil {
		return err
	}
	return s.sealer.unseal(index, entry)
}

// Keys returns the keys that entries of the log are encrypted with, each with its last entry.
func (s *LogStore) Keys() (map[encryption.KeyID]uint64, error) {
	first, err := s.backend.FirstIndex()
	return s.sealer.used.since(first), err
}

// FilesBegin returns the first entry that the files of the log may hold. A removed entry stays
// until its file is removed. Pages of a boltdb log may hold earlier ones.
func (s *LogStore) FilesBegin() (begin uint64, err error) {
	if begin, err = s.backend.FirstIndex(); err != nil {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(s.path, "*.wal"))
	for _, file := range files {
		if n, bad := strconv.ParseUint(strings.SplitN(filepath.Base(file), "-", 2)[0], 10, 64); bad == nil {
			begin = min(begin, n)
		}
	}
	return begin, err
}

func (s *LogStore) readError(err error) error {
	if err == nil {
		return nil
	}
	return s.damaged(err)
}

func (s *LogStore) damaged(err error) error {
	return s.guard.FailRead(fmt.Errorf("the log %s cannot be used: %w", s.path, err))
}

// Close closes the files.
func (s *LogStore) Close() error { return errors.Join(s.backend.Close(), s.mark.close()) }
