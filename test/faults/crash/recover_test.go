package crash

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/offline"
)

// recovered is the state of a node after a start from a directory.
type recovered struct {
	ballot
	last uint64 // index of the last entry of the log or the snapshot
	hash string // of the state at the requested index; empty: it cannot be computed any more
}

// ballot is the durable election state of a node.
type ballot struct {
	term      uint64
	voted     uint64 // the term of the last vote
	candidate string // the candidate that got the vote; the address is the node id
}

// readBallot reads the term and vote store of a stopped node.
func readBallot(dir string) (b ballot, err error) {
	db, err := bbolt.Open(filepath.Join(dir, "group-0", "stable.db"), 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return b, fmt.Errorf("read the vote: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return b, db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte("conf"))
		if bucket == nil {
			return errors.New("read the vote: there is none")
		}
		// A checksum follows each value, which the node checks itself.
		value := func(key string) []byte {
			sealed := bucket.Get([]byte(key))
			return sealed[:max(0, len(sealed)-crc32.Size)]
		}
		number := func(key string) uint64 {
			if v := value(key); len(v) == 8 {
				return binary.BigEndian.Uint64(v)
			}
			return 0
		}
		b = ballot{number("CurrentTerm"), number("LastVoteTerm"), string(value("LastVoteCand"))}
		return nil
	})
}

// failures collects why a node ended itself.
type failures struct {
	mu  sync.Mutex
	all []error
}

func (f *failures) add(code cluster.ExitCode, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fmt.Errorf("exit code %d: %w", code, err))
}

func (f *failures) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.all...)
}

// trialNode is the node that is started in trials.
type trialNode struct {
	name  string
	store string // of its log
	// alone means that the node is the only member, and must become ready. Otherwise it is stopped
	// before it can be a candidate, so that it keeps its term.
	alone bool
}

// start opens a node on the directory and closes it again.
func start(ctx context.Context, dir string, trial trialNode) (err error) {
	failed := &failures{}
	// A process would have ended here. This one continues, and the library ends its goroutines.
	defer func() {
		if broken := recover(); broken != nil {
			err = errors.Join(failed.join(), fmt.Errorf("it does not start: %v", broken))
		}
	}()
	expect, timeout := 1, 20*time.Millisecond
	var join []string
	if !trial.alone {
		expect, timeout, join = 3, waitMax, []string{"127.0.0.1:1"}
	}
	node, err := cluster.Open(ctx, cluster.Config{
		NodeName: trial.name, DataDir: dir, PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: expect, Join: join,
		Log: cluster.LogPolicy{Store: trial.store, SegmentBytes: 64 << 10, Encryption: cluster.EncryptionPolicy{Keys: keys},
			Bodies: cluster.BodyPolicy{Store: *bodies, SegmentBytes: 24 << 10, CacheBytes: 1}},
		Timing: cluster.Timing{Heartbeat: timeout, Election: timeout, Lease: timeout / 2},
		Logger: slog.New(slog.DiscardHandler),
		Fatal:  failed.add,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("it does not start: %w", err), failed.join())
	}
	err = awaitReady(ctx, node, failed, trial.alone)
	if closed := node.Close(ctx); closed != nil {
		err = errors.Join(err, fmt.Errorf("it does not end: %w", closed))
	}
	return errors.Join(err, failed.join())
}

// awaitReady waits until a single node is ready.
func awaitReady(ctx context.Context, node *cluster.Node, failed *failures, alone bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for alone && node.Ready() != nil && failed.join() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it does not become ready: %w", node.Ready())
		}
	}
	return nil
}

// look reads a directory after the start. The state at index shows whether all entries up to it are
// the acknowledged ones; the start itself may have written later ones.
func look(ctx context.Context, dir string, index uint64) (r recovered, err error) {
	stopped, err := offline.Open(ctx, dir, keys, slog.New(slog.DiscardHandler))
	if err != nil {
		return r, fmt.Errorf("look at it: %w", err)
	}
	defer func() { err = errors.Join(err, stopped.Close()) }()
	first, last, err := stopped.LogBounds()
	if err != nil {
		return r, err
	}
	snapshots, err := stopped.Snapshots()
	if err != nil {
		return r, err
	}
	// The hash of the state is not computed from the bodies in segments, so check them here.
	if err := stopped.VerifyBodies(); err != nil {
		return r, fmt.Errorf("the bodies: %w", err)
	}
	r.last = last
	base := uint64(0) // the newest snapshot at index or before it
	for _, s := range snapshots {
		r.last = max(r.last, s.Index)
		if s.Index <= index {
			base = max(base, s.Index)
		}
	}
	// A snapshot from the leader replaces everything before it.
	if base != index && (first == 0 || first > base+1 || last < index) {
		return r, nil
	}
	state, err := stopped.State(index)
	if err != nil {
		return r, fmt.Errorf("the state at entry %d: %w", index, err)
	}
	r.hash = state.StateHash
	return r, nil
}
