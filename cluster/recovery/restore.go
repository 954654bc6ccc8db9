package recovery

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Restore replaces the state of a fresh cluster by that of a backup, from any node. The
// restored state begins an epoch: receipt handles returned before are refused, sequence
// numbers used after the backup are skipped, and deduplication windows continue.
func (s *Service) Restore(ctx context.Context, backup io.Reader, options RestoreOptions) (Restored, error) {
	if err := s.checkFresh(ctx); err != nil {
		return Restored{}, err
	}
	known := s.Group.Leadership()
	switch {
	case known.Self:
		return s.restoreHere(ctx, backup, options)
	case known.LeaderID == "":
		return Restored{}, fault.ErrUnavailable
	default:
		return s.forward(ctx, known.LeaderID, backup, options)
	}
}

// checkFresh refuses a restore before anything is sent or written.
func (s *Service) checkFresh(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if _, err := s.ReadBarrier(limited); err != nil {
		return err
	}
	return s.fresh()
}

// fresh returns ErrNotFresh if the present state holds queues or topics.
func (s *Service) fresh() (err error) {
	s.Replica.Inspect(func(b *queue.Broker) {
		if queues, topics := b.View().Queues(), b.View().Topics(); queues+topics > 0 {
			err = fmt.Errorf("%w, this one holds %d queues and %d topics", ErrNotFresh, queues, topics)
		}
	})
	return err
}

// restoreHere restores as the leader.
func (s *Service) restoreHere(ctx context.Context, backup io.Reader, options RestoreOptions) (Restored, error) {
	// The node that forwards may not have checked. A refusal now spares the transfer.
	if err := s.fresh(); err != nil {
		return Restored{}, err
	}
	restored, in, err := s.readBackup(backup)
	if err != nil {
		return Restored{}, err
	}
	defer in.close()
	if err := s.AdoptAccessKeys(ctx, in.broker, options); err != nil {
		return Restored{}, err
	}
	t := s.Term()
	if t == nil {
		return Restored{}, fault.ErrNotLeader
	}
	// A restore takes votes and gives them back, so no learner may be promoted meanwhile.
	unlock, err := s.LockMembers(ctx)
	if err != nil {
		return Restored{}, fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	defer unlock()
	done := make(chan error, 1) // buffered, because this call may have returned
	work := func() { done <- s.replaceState(s.Life, in, &restored) }
	switch err := t.RunExclusively(ctx, work); {
	case errors.Is(err, fault.ErrNotLeader):
		return Restored{}, err
	case err != nil:
		return Restored{}, fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	// The restore completes now, even if ctx ends.
	if err := <-done; err != nil {
		return Restored{}, err
	}
	s.Log.Info("restored a backup", "backup_index", restored.BackupIndex, "index", restored.Index,
		"queues", restored.Queues, "messages", restored.Messages)
	return restored, nil
}

// copiesMax bounds the copies of a backup that are on the disk of a node at the same time.
// The leader writes five, and deletes each before it begins the next but one: the backup as
// it arrived, its bodies in segments of their own, the state to be restored, the library's
// snapshot of it, and the segments of the restored state machine. The other nodes write the
// snapshot as it arrives, and then the last two.
const copiesMax = 2

// spoolBackup writes the whole backup to a file first: a sender that stops sending must not
// stop the log.
func (s *Service) spoolBackup(backup io.Reader) (*storage.Spool, error) {
	file, err := storage.CreateSpool(s.DataDir, s.Keys)
	if err != nil {
		return nil, fmt.Errorf("keeping the backup: %w", err)
	}
	room := s.Room() / copiesMax
	size, err := io.Copy(file, io.LimitReader(backup, room))
	switch {
	case err != nil:
		err = fmt.Errorf("receiving the backup: %w", err)
	case size == room:
		err = fmt.Errorf("%w: the disk of node %s has no room for %d copies of a backup of %d bytes or more, which a restore needs",
			fault.ErrUnavailable, s.NodeName, copiesMax, room)
	default:
		if _, err = file.Rewind(); err == nil {
			return file, nil
		}
		err = fmt.Errorf("reading the backup: %w", err)
	}
	return nil, errors.Join(err, file.Close())
}

// readBackup reads the state of a backup. The caller closes the incomingBackup.
func (s *Service) readBackup(backup io.Reader) (Restored, *incomingBackup, error) {
	file, err := s.spoolBackup(backup)
	if err != nil {
		return Restored{}, nil, err
	}
	defer func() { _ = file.Close() }() // returns nil
	text, _, err := storage.Decrypted(file, s.Keys)
	if err != nil {
		return Restored{}, nil, fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	in, err := s.openIncoming()
	if err != nil {
		return Restored{}, nil, err
	}
	restored, err := in.read(text)
	if err != nil {
		in.close()
		return Restored{}, nil, err
	}
	restored.NodeName = s.NodeName
	return restored, in, nil
}

// incomingBackup is the state of a backup before it is that of the cluster. Its bodies are
// in segments of their own, even if this node keeps bodies in memory: they may need more
// than there is. Used by one goroutine at a time.
type incomingBackup struct {
	broker *queue.Broker // nil before read and after close
	store  *bodies.Store
	// disk writes the segments. Unlike the disk of the node, a failure or a lack of space
	// here ends the restore, not the node.
	disk *storage.DiskGuard
	dir  string
}

// neverHangs is the deadline for a disk for which only the restore waits.
const neverHangs = math.MaxInt64

func (s *Service) openIncoming() (*incomingBackup, error) {
	dir, err := storage.MakeSpoolDir(s.DataDir)
	if err != nil {
		return nil, fmt.Errorf("keeping the bodies of the backup: %w", err)
	}
	in := &incomingBackup{dir: dir, disk: storage.NewDiskGuard(neverHangs, func(fault.ExitCode, error) {}, s.Disk)}
	in.store, err = bodies.Open(bodies.Options{
		Life: s.Life, Dir: dir, Guard: in.disk, Logger: s.Log, Keep: true,
		CacheBytes: s.Segments.CacheBytes, SegmentBytes: s.Segments.SegmentBytes, KeepMin: s.Segments.KeepMin,
		Keys: s.Keys,
	})
	if err != nil {
		in.close()
		return nil, fmt.Errorf("keeping the bodies of the backup: %w", err)
	}
	return in, nil
}

// read reads all of a backup.
func (in *incomingBackup) read(file io.Reader) (Restored, error) {
	in.store.Begin() // an empty state, which the one of the backup replaces
	state := in.store.Begin()
	at, broker, contents, err := snapshot.ReadContents(bufio.NewReaderSize(whileSound{file, in.disk}, 1<<20), state)
	if err == nil {
		if missing := state.Adopt(); missing != nil {
			err = fmt.Errorf("it refers to bodies that are not in it: %w", missing)
		}
	}
	if broken := in.diskError(); broken != nil {
		return Restored{}, broken
	}
	if err != nil {
		return Restored{}, fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	in.broker = broker
	return Restored{
		BackupIndex: at.Index,
		BackupHash:  hex.EncodeToString(at.StateHash[:]),
		Queues:      contents.Queues,
		Messages:    contents.Messages,
		IDs:         contents.DeduplicationIDs,
	}, nil
}

// diskError returns the first write error of the segments, if any.
func (in *incomingBackup) diskError() error {
	err := in.disk.Poisoned()
	if err == nil {
		return nil
	}
	if cause := errors.Unwrap(err); cause != nil { // without the advice for a node that ended
		err = cause
	}
	return fmt.Errorf("keeping the bodies of the backup: %w", err)
}

// close releases the state and removes its bodies. You may call it twice.
func (in *incomingBackup) close() {
	if in.store != nil {
		in.store.Close()
	}
	_ = os.RemoveAll(in.dir) // the next start of the node removes the rest
	in.broker, in.store, in.dir = nil, nil, ""
}

// whileSound reads until the disk fails: a Store whose disk does not write keeps the bodies
// in memory.
type whileSound struct {
	io.Reader
	disk *storage.DiskGuard
}

func (r whileSound) Read(p []byte) (int, error) {
	if err := r.disk.Poisoned(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// replaceState runs between two leader terms: nothing is proposed, and all proposals are
// answered.
func (s *Service) replaceState(ctx context.Context, in *incomingBackup, restored *Restored) error {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := s.Group.Barrier(limited); err != nil {
		return fmt.Errorf("waiting for the entries before the restore: %w", err)
	}
	if err := errors.Join(s.fresh(), s.awaitMembers(ctx)); err != nil {
		return err
	}
	var replaced queue.BrokerRecord
	s.Replica.Inspect(func(b *queue.Broker) { replaced = b.Record() })
	if version := in.broker.FormatVersion(); version > replaced.FormatVersion {
		return fmt.Errorf("%w: it needs format version %d, the cluster is at %d: upgrade all nodes and finalize the upgrade",
			ErrBadBackup, version, replaced.FormatVersion)
	}
	in.broker.BeginEpoch(s.ClusterID(), replaced)
	restored.Epoch = in.broker.Record().Epoch
	state, size, err := s.writeState(in, restored.BackupIndex)
	in.close() // before the bodies are written again: memory and disk have room for one copy
	if err != nil {
		return err
	}
	if err := s.Group.Restore(ctx, restored.BackupIndex, state, size); err != nil {
		return fmt.Errorf("replacing the state: %w", err)
	}
	at := s.Replica.Position()
	restored.Index, restored.LogTimeMs, restored.StateHash = at.Index, int64(at.At), hex.EncodeToString(at.StateHash[:])
	return nil
}

// How long a member may take to confirm the newest entry, and how often to check.
const (
	memberTimeout = 5 * time.Second
	memberPause   = 10 * time.Millisecond
)

// awaitMembers waits until every member has the newest entry. The library's restore is not
// safe in a cluster with a network partition: the leader adopts the state before a majority
// has it.
func (s *Service) awaitMembers(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for {
		lagging := s.laggingMember()
		if lagging == "" {
			return nil
		}
		if !wakeup.Sleep(limited, memberPause) {
			return fmt.Errorf("%w, node %s does not answer or is behind", ErrMembersAway, lagging)
		}
	}
}

// laggingMember returns a member that has not confirmed the newest entry, empty if all have.
func (s *Service) laggingMember() string {
	for _, m := range s.Group.Stats().Members {
		if m.NodeID != s.NodeID && m.LagEntries != 0 {
			return m.NodeID
		}
	}
	return ""
}

// writeState writes the state to be restored as the snapshot of an entry. Neither this
// cluster nor the backed-up one has an entry after it.
func (s *Service) writeState(in *incomingBackup, backupIndex uint64) (*storage.Spool, int64, error) {
	state, err := storage.CreateSpool(s.DataDir, s.Keys)
	if err != nil {
		return nil, 0, fmt.Errorf("writing the state: %w", err)
	}
	here := s.Replica.Position()
	at := snapshot.Position{
		Index:     max(backupIndex, here.Index),
		Term:      s.Group.Leadership().Term,
		At:        in.broker.Now(),
		StateHash: in.broker.StateHash(),
		ChainHash: here.ChainHash,
	}
	buffered := bufio.NewWriterSize(state, 1<<20)
	err = errors.Join(snapshot.Write(buffered, at, in.broker.Freeze()), buffered.Flush())
	if broken := in.diskError(); err != nil && broken != nil {
		err = broken
	}
	size, rewindErr := state.Rewind()
	if err := errors.Join(err, rewindErr); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("writing the state: %w", err), state.Close())
	}
	return state, size, nil
}
