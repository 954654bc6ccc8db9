package cluster

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

// Errors of Restore, compared with errors.Is. After another error but
// ErrUnavailable and ErrNotLeader it is unknown what became of the restore.
var (
	// ErrNotFresh: the cluster holds something that a restore would destroy.
	ErrNotFresh = errors.New("a backup is restored into a fresh cluster only")
	// ErrBadBackup: the backup is damaged, truncated, or of a newer format.
	ErrBadBackup = fault.ErrBadBackup
	// ErrSealed: the access keys of the backup are sealed for other nodes.
	ErrSealed = errors.New("the backup holds access keys whose secrets are sealed: restore it with --secrets-key and the file secrets.key of any node that was a member when it was made, or with --without-access-keys")
	// ErrMembersAway: the cluster is not complete.
	ErrMembersAway = errors.New("all members must be there for a restore")
)

// Restored describes a finished restore.
type Restored struct {
	Index       uint64 `json:"index"` // of the log, at which the cluster goes on
	LogTimeMs   int64  `json:"logTimeMs"`
	StateHash   string `json:"stateHash"` // hex, of the restored state
	BackupIndex uint64 `json:"backupIndex"`
	BackupHash  string `json:"backupHash"`
	Queues      uint64 `json:"queues"`
	Messages    uint64 `json:"messages"`
	IDs         uint64 `json:"deduplicationIds"`
	Epoch       uint32 `json:"epoch"`
	NodeName    string `json:"nodeName"` // that led the restore
}

// RestoreOptions say what becomes of the access keys of a backup. Only those that are sealed
// for other nodes need one of them.
type RestoreOptions struct {
	// SecretsKey is the content of the file secrets.key of a node that was a member when the
	// backup was made; empty: it is not given.
	SecretsKey string `json:"secretsKey,omitempty"`
	// WithoutAccessKeys leaves the access keys of the backup out: those of this cluster stay.
	WithoutAccessKeys bool `json:"withoutAccessKeys,omitempty"`
}

// Restore replaces the state of a fresh cluster by that of a backup, from any
// node. The restored state begins an epoch: receipt handles given out before are
// refused, sequence numbers handed out after the backup are skipped, and deduplication
// windows continue.
func (n *Node) Restore(ctx context.Context, backup io.Reader, options RestoreOptions) (Restored, error) {
	if !n.calls.enter() {
		return Restored{}, errClosing
	}
	defer n.calls.leave()
	if err := n.checkFresh(ctx); err != nil {
		return Restored{}, err
	}
	leader := n.group.Leadership()
	switch {
	case leader.Self:
		return n.restoreHere(ctx, backup, options)
	case leader.LeaderID == "":
		return Restored{}, fault.ErrUnavailable
	default:
		return n.forwardRestore(ctx, leader.LeaderID, backup, options)
	}
}

// checkFresh refuses before anything is sent or written.
func (n *Node) checkFresh(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, n.cfg.Limits.Timeout)
	defer cancel()
	if _, err := n.readBarrier(limited); err != nil {
		return err
	}
	return n.fresh()
}

// fresh returns ErrNotFresh if the present state holds queues or topics.
func (n *Node) fresh() (err error) {
	n.replica.Inspect(func(b *queue.Broker) {
		if queues, topics := b.View().Queues(), b.View().Topics(); queues+topics > 0 {
			err = fmt.Errorf("%w, this one holds %d queues and %d topics", ErrNotFresh, queues, topics)
		}
	})
	return err
}

// restoreHere restores as the leader.
func (n *Node) restoreHere(ctx context.Context, backup io.Reader, options RestoreOptions) (Restored, error) {
	// The node that forwards may not have checked, and a backup that is refused need
	// not be received.
	if err := n.fresh(); err != nil {
		return Restored{}, err
	}
	restored, in, err := n.readBackup(backup)
	if err != nil {
		return Restored{}, err
	}
	defer in.close()
	if err := n.adoptAccessKeys(ctx, in.broker, options); err != nil {
		return Restored{}, err
	}
	t := n.term.Load()
	if t == nil {
		return Restored{}, fault.ErrNotLeader
	}
	// A restore takes votes and gives them back; no learner may be promoted meanwhile.
	select {
	case n.changing <- struct{}{}:
		defer func() { <-n.changing }()
	case <-ctx.Done():
		return Restored{}, fmt.Errorf("%w: %w", fault.ErrUnavailable, ctx.Err())
	}
	done := make(chan error, 1) // the one outcome, for which nobody may wait any more
	work := func() { done <- n.replaceState(n.life, in, &restored) }
	switch err := t.RunExclusively(ctx, work); {
	case errors.Is(err, fault.ErrNotLeader):
		return Restored{}, err
	case err != nil:
		return Restored{}, fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	// From here on it is completed, even if ctx ends.
	if err := <-done; err != nil {
		return Restored{}, err
	}
	n.log.Info("restored a backup", "backup_index", restored.BackupIndex, "index", restored.Index,
		"queues", restored.Queues, "messages", restored.Messages)
	return restored, nil
}

// restoreCopies of a backup are on the disk of a node at the same time, at most. On that of
// the leader each goes before the next but one begins: the backup as it came, its bodies in
// segments of their own, the state to be restored, the library's snapshot of it, and the
// segments of the state machine that is restored from that. The others have the last two,
// and before these the snapshot as it is sent.
const restoreCopies = 2

// backupRoom is how large a backup may be, so that the disk does not fill up; it is
// without bound if the free space is unknown.
func (n *Node) backupRoom() int64 {
	policy := n.pressure.limits
	space, err := policy.DiskSpace(n.cfg.DataDir)
	if err != nil {
		return math.MaxInt64
	}
	kept := policy.DiskResign.bytes(space.Total)
	return int64((max(space.Free, kept) - kept) / restoreCopies)
}

// spoolBackup writes the backup to a file until all of it is there: a sender that stops
// sending must not hold up the log.
func (n *Node) spoolBackup(backup io.Reader) (*storage.Spool, error) {
	file, err := storage.CreateSpool(n.cfg.DataDir, n.cfg.Log.Encryption.Keys)
	if err != nil {
		return nil, fmt.Errorf("keeping the backup: %w", err)
	}
	room := n.backupRoom()
	size, err := io.Copy(file, io.LimitReader(backup, room))
	switch {
	case err != nil:
		err = fmt.Errorf("receiving the backup: %w", err)
	case size == room:
		err = fmt.Errorf("%w: the disk of node %s has no room for a backup of %d bytes or more, of which a restore has %d copies at a time",
			fault.ErrUnavailable, n.cfg.NodeName, room, restoreCopies)
	default:
		if _, err = file.Rewind(); err == nil {
			return file, nil
		}
		err = fmt.Errorf("reading the backup: %w", err)
	}
	return nil, errors.Join(err, file.Close())
}

// readBackup reads the state of a backup. The caller closes what it returns.
func (n *Node) readBackup(backup io.Reader) (Restored, *incomingBackup, error) {
	file, err := n.spoolBackup(backup)
	if err != nil {
		return Restored{}, nil, err
	}
	defer func() { _ = file.Close() }() // returns nil
	text, _, err := storage.Decrypted(file, n.cfg.Log.Encryption.Keys)
	if err != nil {
		return Restored{}, nil, fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	in, err := n.openIncoming()
	if err != nil {
		return Restored{}, nil, err
	}
	restored, err := in.read(text)
	if err != nil {
		in.close()
		return Restored{}, nil, err
	}
	restored.NodeName = n.cfg.NodeName
	return restored, in, nil
}

// incomingBackup is the state of a backup before it is that of the cluster. Its bodies are
// in segments of their own, whatever this node keeps others in, as there may be more of them
// than memory. Used by one goroutine at a time.
type incomingBackup struct {
	broker *queue.Broker // nil before read and after close
	store  *bodies.Store
	// disk stands before the segments instead of the node's guard: a disk that fails or is
	// full here ends the restore, and the node goes on.
	disk *storage.DiskGuard
	dir  string
}

// neverHangs is a deadline for a disk that nobody but who restores waits for.
const neverHangs = math.MaxInt64

func (n *Node) openIncoming() (*incomingBackup, error) {
	dir, err := storage.MakeSpoolDir(n.cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("keeping the bodies of the backup: %w", err)
	}
	in := &incomingBackup{dir: dir, disk: storage.NewDiskGuard(neverHangs, func(fault.ExitCode, error) {}, n.cfg.Disk)}
	policy := n.cfg.Log.Bodies
	in.store, err = bodies.Open(bodies.Options{
		Life: n.life, Dir: dir, Guard: in.disk, Logger: n.cfg.Logger, Keep: true,
		CacheBytes: policy.CacheBytes, SegmentBytes: policy.SegmentBytes, KeepMin: policy.KeepMin,
		Keys: n.cfg.Log.Encryption.Keys,
	})
	if err != nil {
		in.close()
		return nil, fmt.Errorf("keeping the bodies of the backup: %w", err)
	}
	return in, nil
}

// read reads all of a backup.
func (in *incomingBackup) read(file io.Reader) (Restored, error) {
	in.store.Begin() // an empty state, in whose place the one of the backup comes
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

// diskError is what the disk did not do with the segments, nil if it did everything.
func (in *incomingBackup) diskError() error {
	err := in.disk.Poisoned()
	if err == nil {
		return nil
	}
	if cause := errors.Unwrap(err); cause != nil { // without the advice to somebody whose node ended
		err = cause
	}
	return fmt.Errorf("keeping the bodies of the backup: %w", err)
}

// close lets go of the state and removes its bodies. More than once is allowed.
func (in *incomingBackup) close() {
	if in.store != nil {
		in.store.Close()
	}
	_ = os.RemoveAll(in.dir) // what is left of it goes when the node starts
	in.broker, in.store, in.dir = nil, nil, ""
}

// whileSound reads until the disk fails, since a Store whose disk does not write keeps what
// it is given in memory.
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

// replaceState runs between two leader terms, when nothing is proposed and all that
// was is answered.
func (n *Node) replaceState(ctx context.Context, in *incomingBackup, restored *Restored) error {
	limited, cancel := context.WithTimeout(ctx, n.cfg.Limits.Timeout)
	defer cancel()
	if err := n.group.Barrier(limited); err != nil {
		return fmt.Errorf("waiting for the entries before the restore: %w", err)
	}
	if err := errors.Join(n.fresh(), n.complete(ctx)); err != nil {
		return err
	}
	var replaced queue.BrokerRecord
	n.replica.Inspect(func(b *queue.Broker) { replaced = b.Record() })
	if version := in.broker.FormatVersion(); version > replaced.FormatVersion {
		return fmt.Errorf("%w: it needs format version %d, the cluster is at %d: upgrade all nodes and finalize the upgrade", ErrBadBackup, version, replaced.FormatVersion)
	}
	in.broker.BeginEpoch(n.process.clusterID(), replaced)
	restored.Epoch = in.broker.Record().Epoch
	state, size, err := n.writeState(in, restored.BackupIndex)
	in.close() // before its bodies are written again: memory and disk have room for one of the two
	if err != nil {
		return err
	}
	if err := n.group.Restore(ctx, restored.BackupIndex, state, size); err != nil {
		return fmt.Errorf("replacing the state: %w", err)
	}
	at := n.replica.Position()
	restored.Index, restored.LogTimeMs, restored.StateHash = at.Index, int64(at.At), hex.EncodeToString(at.StateHash[:])
	return nil
}

// How long a member may take to confirm the newest entry, and how often to look.
const (
	memberTimeout = 5 * time.Second
	memberPause   = 10 * time.Millisecond
)

// complete waits until every member has the newest entry. The library's restore
// is not safe in a cluster whose parts do not see each other: the leader takes
// over the state before a majority has it.
func (n *Node) complete(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for {
		behind := n.behind()
		if behind == "" {
			return nil
		}
		if !wakeup.Sleep(limited, memberPause) {
			return fmt.Errorf("%w, node %s does not answer or is behind", ErrMembersAway, behind)
		}
	}
}

// behind names a member that has not confirmed the newest entry.
func (n *Node) behind() string {
	for _, m := range n.group.Stats().Members {
		if m.NodeID != n.process.nodeID && m.LagEntries != 0 {
			return m.NodeID
		}
	}
	return ""
}

// writeState writes the state to be restored, as the snapshot of an entry that
// is not before any this cluster or the backed-up one has written.
func (n *Node) writeState(in *incomingBackup, backupIndex uint64) (*storage.Spool, int64, error) {
	state, err := storage.CreateSpool(n.cfg.DataDir, n.cfg.Log.Encryption.Keys)
	if err != nil {
		return nil, 0, fmt.Errorf("writing the state: %w", err)
	}
	here := n.replica.Position()
	at := snapshot.Position{
		Index:     max(backupIndex, here.Index),
		Term:      n.group.Leadership().Term,
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
