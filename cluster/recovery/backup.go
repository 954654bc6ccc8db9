package recovery

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// Backup is the state of the cluster at one entry of the log, captured and not yet
// written. It keeps that state in memory, so memory grows with each later change until the
// Backup is released.
type Backup struct {
	leader.Position
	ClusterID string
	StateHash string // hex, as a node at Index reports it

	state   *fsm.Captured
	service *Service
}

// Backup captures everything acknowledged before the call, on any node. The capture is
// quick for a state of any size, and the node serves clients while the Backup is written.
func (s *Service) Backup(ctx context.Context) (*Backup, error) {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if _, err := s.ReadBarrier(limited); err != nil {
		return nil, err
	}
	return s.capture(), nil
}

func (s *Service) capture() *Backup {
	state := s.Replica.Capture()
	at := state.Position
	return &Backup{
		Position:  leader.Position{Index: at.Index, LogTime: at.At},
		ClusterID: s.ClusterID(),
		StateHash: hex.EncodeToString(at.StateHash[:]),
		state:     state,
		service:   s,
	}
}

// Stream writes the backup: a snapshot, which ends with counts of its contents, so that
// readers detect a truncated one. It writes at the pace of snapshots, and ends early with
// ctx, with the node, or if w is too slow (readRateMin). Call it once: it releases the
// captured state.
func (b *Backup) Stream(ctx context.Context, w io.Writer) error {
	defer b.state.Release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.service.Closing, cancel)()
	paced := newPacedWriter(ctx, w, b.service.Pace, b.service.Monotonic)
	if err := b.write(paced); err != nil {
		return errors.Join(fmt.Errorf("writing the backup of entry %d: %w", b.Index, err), ctx.Err())
	}
	return nil
}

// write writes the state, encrypted if the node has keys.
func (b *Backup) write(w io.Writer) error {
	if b.service.Keys == nil {
		return b.state.Write(w)
	}
	encrypted, err := storage.Encrypted(w, b.service.Keys)
	if err != nil {
		return err
	}
	if err := b.state.Write(encrypted); err != nil {
		return err
	}
	return encrypted.Close()
}

// pacedWriter limits the rate of writing, so that clients get their part of disk and
// network.
type pacedWriter struct {
	w         io.Writer
	ctx       context.Context // ends with the call of Stream, or the node
	pacer     *consensus.Pacer
	rateMin   int64 // of the reader, in bytes a second
	monotonic func() time.Duration
	began     time.Duration
	bytes     int64 // written
}

// The captured state stays in memory while a backup is written. So a backup ends early if
// its reader receives fewer than readRateMin bytes a second on average, after readGrace. If
// the pace is set lower, the reader must keep up with a quarter of the pace.
const (
	readRateMin = 1 << 20
	readGrace   = time.Minute
)

func newPacedWriter(ctx context.Context, w io.Writer, pace consensus.SnapshotPolicy, monotonic func() time.Duration) *pacedWriter {
	return &pacedWriter{
		w: w, ctx: ctx, pacer: consensus.NewPacer(pace, monotonic), rateMin: min(readRateMin, max(1, pace.BytesPerSecond/4)),
		monotonic: monotonic, began: monotonic(),
	}
}

var (
	errSlowReader  = errors.New("the reader of the backup is too slow: the node cannot keep the captured state for it")
	errBackupEnded = errors.New("the backup ended early: the caller disconnected or the node is stopping")
)

// keepsUp reports whether the reader has received enough until now.
func (p *pacedWriter) keepsUp() bool {
	allowed := readGrace + time.Duration(float64(p.bytes)/float64(p.rateMin)*float64(time.Second))
	return p.monotonic()-p.began <= allowed
}

// Write writes and then waits as long as the pace requires.
func (p *pacedWriter) Write(content []byte) (int, error) {
	n, err := p.w.Write(content)
	if p.bytes += int64(n); err == nil && !p.keepsUp() {
		return n, errSlowReader
	}
	if err == nil && !p.pacer.Wrote(p.ctx, n) {
		return n, errBackupEnded
	}
	return n, err
}
