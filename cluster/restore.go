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
	"path/filepath"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

// Errors of Restore, compared with errors.Is. After another error but
// ErrUnavailable and ErrNotLeader it is unknown what became of the restore.
var (
	// ErrNotFresh: the cluster holds something that a restore would destroy.
	ErrNotFresh = errors.New("a backup is restored into a fresh cluster only")
	// ErrBadBackup: the backup is damaged, truncated, or of a newer format.
	ErrBadBackup = fault.ErrBadBackup
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

// spoolPattern names backups on their way in.
const spoolPattern = "restore-*.tmp"

// removeSpools removes what crashes left behind.
func removeSpools(d *storage.Dir) error {
	spools, err := filepath.Glob(d.File(spoolPattern))
	for _, spool := range spools {
		err = errors.Join(err, os.Remove(spool))
	}
	return err
}

// Restore replaces the state of a fresh cluster by that of a backup, from any
// node. The restored state begins an epoch: receipt handles given out before are
// refused, sequence numbers handed out after the backup are skipped, and deduplication
// windows continue.
func (n *Node) Restore(ctx context.Context, backup io.Reader) (Restored, error) {
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
		return n.restoreHere(ctx, backup)
	case leader.LeaderID == "":
		return Restored{}, fault.ErrUnavailable
	default:
		return n.forwardRestore(ctx, leader.LeaderID, backup)
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
func (n *Node) restoreHere(ctx context.Context, backup io.Reader) (Restored, error) {
	// The node that forwards may not have checked, and a backup that is refused need
	// not be received.
	if err := n.fresh(); err != nil {
		return Restored{}, err
	}
	restored, broker, err := n.readBackup(backup)
	if err != nil {
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
	work := func() { done <- n.replaceState(n.life, broker, &restored) }
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

// restoreCopies of a backup are on the disk of the leader at the same time: as it
// came, as the state to be restored, and as a snapshot.
const restoreCopies = 3

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

// readBackup writes the backup to a file until all of it is there, and reads the state
// from that: a sender that stops sending must not hold up the log.
func (n *Node) readBackup(backup io.Reader) (Restored, *queue.Broker, error) {
	spool, err := os.CreateTemp(n.cfg.DataDir, spoolPattern)
	if err != nil {
		return Restored{}, nil, fmt.Errorf("keeping the backup: %w", err)
	}
	defer func() { _ = errors.Join(spool.Close(), os.Remove(spool.Name())) }() // the content is not needed any more
	room := n.backupRoom()
	if size, err := io.Copy(spool, io.LimitReader(backup, room)); err != nil {
		return Restored{}, nil, fmt.Errorf("receiving the backup: %w", err)
	} else if size == room {
		return Restored{}, nil, fmt.Errorf("%w: the disk of node %s has no room for a backup of %d bytes or more, of which a restore writes %d copies", fault.ErrUnavailable, n.cfg.NodeName, room, restoreCopies)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return Restored{}, nil, fmt.Errorf("reading the backup: %w", err)
	}
	at, broker, contents, err := snapshot.ReadContents(bufio.NewReaderSize(spool, 1<<20), content.Memory{})
	if err != nil {
		return Restored{}, nil, fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	return Restored{
		BackupIndex: at.Index,
		BackupHash:  hex.EncodeToString(at.StateHash[:]),
		Queues:      contents.Queues,
		Messages:    contents.Messages,
		IDs:         contents.DeduplicationIDs,
		NodeName:    n.cfg.NodeName,
	}, broker, nil
}

// replaceState runs between two leader terms, when nothing is proposed and all that
// was is answered.
func (n *Node) replaceState(ctx context.Context, broker *queue.Broker, restored *Restored) error {
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
	if version := broker.FormatVersion(); version > replaced.FormatVersion {
		return fmt.Errorf("%w: it needs format version %d, the cluster is at %d: upgrade all nodes and finalize the upgrade", ErrBadBackup, version, replaced.FormatVersion)
	}
	broker.BeginEpoch(n.process.clusterID(), replaced)
	state, size, err := n.writeState(broker, restored.BackupIndex)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(state.Name()) }() // Restore closes it
	if err := n.group.Restore(ctx, restored.BackupIndex, state, size); err != nil {
		return fmt.Errorf("replacing the state: %w", err)
	}
	at := n.replica.Position()
	restored.Index, restored.LogTimeMs, restored.StateHash = at.Index, int64(at.At), hex.EncodeToString(at.StateHash[:])
	restored.Epoch = broker.Record().Epoch
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
func (n *Node) writeState(broker *queue.Broker, backupIndex uint64) (*os.File, int64, error) {
	file, err := os.CreateTemp(n.cfg.DataDir, spoolPattern)
	if err != nil {
		return nil, 0, fmt.Errorf("writing the state: %w", err)
	}
	here := n.replica.Position()
	at := snapshot.Position{
		Index:     max(backupIndex, here.Index),
		Term:      n.group.Leadership().Term,
		At:        broker.Now(),
		StateHash: broker.StateHash(),
		ChainHash: here.ChainHash,
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = errors.Join(snapshot.Write(buffered, at, broker.Freeze()), buffered.Flush())
	size, seekErr := file.Seek(0, io.SeekCurrent)
	_, rewindErr := file.Seek(0, io.SeekStart)
	if err := errors.Join(err, seekErr, rewindErr); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("writing the state: %w", err), file.Close(), os.Remove(file.Name()))
	}
	return file, size, nil
}
