package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm"
)

// Backup is the state of the cluster at one entry of the log, captured and not yet
// written. It keeps that state in memory, so that memory grows with what changes
// meanwhile, until the Backup is dropped.
type Backup struct {
	Position
	ClusterID string
	StateHash string // hex, as a node at Index reports it

	state *fsm.Captured
	keys  *encryption.Keyring // nil: it is written in clear text
	pace  SnapshotPolicy
	// monotonic measures the speed of the reader.
	monotonic func() time.Duration
	closing   context.Context // ends when the node does
}

// Backup captures everything acknowledged before the call, on any node. The capture is
// quick, whatever the size of the state; the node goes on while the Backup is written.
func (n *Node) Backup(ctx context.Context) (*Backup, error) {
	if !n.calls.enter() {
		return nil, errClosing
	}
	defer n.calls.leave()
	limited, cancel := context.WithTimeout(ctx, n.cfg.Limits.Timeout)
	defer cancel()
	if _, err := n.readBarrier(limited); err != nil {
		return nil, err
	}
	state := n.replica.Capture()
	at := state.Position
	b := &Backup{
		Position:  Position{Index: at.Index, LogTime: at.At},
		ClusterID: n.process.clusterID(),
		StateHash: hex.EncodeToString(at.StateHash[:]),
		state:     state,
		keys:      n.cfg.Log.Encryption.Keys,
		pace:      n.cfg.Snapshot,
		monotonic: n.cfg.Clock.Monotonic,
		closing:   n.closing,
	}
	return b, nil
}

// Stream writes the backup: a snapshot, which ends with counts of what it holds, so that
// a truncated one is detected. It writes at the pace of snapshots, and ends early with
// ctx, with the node, or if w is too slow (backupRateMin). It can be called once, and
// lets go of what was captured.
func (b *Backup) Stream(ctx context.Context, w io.Writer) error {
	defer b.state.Release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.closing, cancel)()
	paced := &pacedBackup{w: w, backup: b, ctx: ctx, pacer: consensus.NewPacer(b.pace, b.monotonic), began: b.monotonic()}
	if err := b.write(paced); err != nil {
		return errors.Join(fmt.Errorf("writing the backup of entry %d: %w", b.Index, err), ctx.Err())
	}
	return nil
}

// write writes the state, encrypted if the node has keys.
func (b *Backup) write(w io.Writer) error {
	if b.keys == nil {
		return b.state.Write(w)
	}
	encrypted, err := storage.Encrypted(w, b.keys)
	if err != nil {
		return err
	}
	if err := b.state.Write(encrypted); err != nil {
		return err
	}
	return encrypted.Close()
}

// pacedBackup limits the rate of writing, so that clients get their part of disk and
// network.
type pacedBackup struct {
	w      io.Writer
	backup *Backup
	ctx    context.Context // ends when nobody wants the backup
	pacer  *consensus.Pacer
	began  time.Duration
	bytes  int64 // written
}

// While a backup is written the captured state stays in memory. So a reader that takes
// less than backupRateMin bytes a second on average, after backupGrace, is given up. If
// the pace is set lower, it must keep up with a quarter of that.
const (
	backupRateMin = 1 << 20
	backupGrace   = time.Minute
)

// errSlowReader: a backup was given up because its reader takes too long.
var errSlowReader = errors.New("the reader of the backup is too slow for the state to be kept for it")

// keepsUp reports whether the reader has taken enough until now.
func (p *pacedBackup) keepsUp() bool {
	least := min(backupRateMin, max(1, p.backup.pace.BytesPerSecond/4))
	allowed := backupGrace + time.Duration(float64(p.bytes)/float64(least)*float64(time.Second))
	return p.backup.monotonic()-p.began <= allowed
}

// errBackupEnded: the caller ended, or the node closed.
var errBackupEnded = errors.New("the backup was given up")

// Write writes and then waits as the pacer demands.
func (p *pacedBackup) Write(content []byte) (int, error) {
	n, err := p.w.Write(content)
	if p.bytes += int64(n); err == nil && !p.keepsUp() {
		return n, errSlowReader
	}
	if err == nil && !p.pacer.Wrote(p.ctx, n) {
		return n, errBackupEnded
	}
	return n, err
}
