package storage

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"
)

// snapshotSink writes a snapshot. It syncs every SyncBytes, so that dirty pages do not pile up and
// delay the syncs of the log. Used by one goroutine.
type snapshotSink struct {
	store    *SnapshotStore
	inner    raft.SnapshotSink
	path     string // of the state file while it is being written
	index    uint64
	bytes    int64
	unsynced int64
	finished bool

	encrypted io.WriteCloser // content after the head; nil: unencrypted
}

// sinkFile is the state file of a sink below its encryption.
type sinkFile struct{ sink *snapshotSink }

func (f sinkFile) Write(content []byte) (int, error) { return f.sink.write(content) }

func (s *snapshotSink) ID() string { return s.inner.ID() }

func (s *snapshotSink) Write(content []byte) (int, error) {
	if s.encrypted != nil {
		return s.encrypted.Write(content)
	}
	return s.write(content)
}

func (s *snapshotSink) write(content []byte) (written int, err error) {
	for piece := range slices.Chunk(content, int(s.store.syncBytes)) {
		err := s.store.guard.Write("write the snapshot "+s.path, func() error {
			n, err := s.inner.Write(piece)
			written += n
			s.bytes += int64(n)
			if s.unsynced += int64(n); err == nil && s.unsynced >= s.store.syncBytes {
				s.unsynced = 0
				err = syncFile(s.path)
			}
			return err
		})
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Close makes the snapshot durable and visible. The library syncs the files and the snapshots
// directory, but not the directory that holds the files.
func (s *snapshotSink) Close() error {
	if s.finished {
		return nil
	}
	s.finished = true
	defer s.store.wrote(s)
	if s.encrypted != nil {
		if err := s.encrypted.Close(); err != nil {
			return errors.Join(err, s.inner.Cancel())
		}
	}
	err := s.store.guard.Write("finish the snapshot "+s.path, func() error {
		if err := SyncDir(filepath.Dir(s.path)); err != nil {
			return err
		}
		return s.inner.Close()
	})
	if err == nil {
		s.store.finished(SnapshotEnd{Index: s.index, Bytes: s.bytes})
	}
	return err
}

// Cancel removes the unfinished snapshot.
func (s *snapshotSink) Cancel() error {
	if s.finished {
		return nil
	}
	s.finished = true
	defer s.store.wrote(s)
	return s.store.guard.Write("remove the snapshot "+s.path, s.inner.Cancel)
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
