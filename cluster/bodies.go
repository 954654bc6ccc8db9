package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/scrub"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Stores for the bodies of messages.
const (
	BodiesInMemory   = "memory"   // and in every snapshot
	BodiesInSegments = "segments" // in files; snapshots refer to them
)

// BodyPolicy configures the store of this node for the bodies of messages. Nodes may differ.
type BodyPolicy struct {
	Store        string // BodiesInMemory or BodiesInSegments; default BodiesInSegments
	CacheBytes   int64  // of the newest bodies in segments, kept in memory, too; default 16 MiB
	SegmentBytes int64  // of one file; default 64 MiB
	KeepMin      int    // shorter bodies stay in memory; default 128
	Scrub        ScrubPolicy
}

// ScrubPolicy configures the checks of bodies in segments, which are read from disk.
type ScrubPolicy struct {
	BytesPerSecond int64         // 0: no checks
	Interval       time.Duration // from the end of one check of all bodies to the next; default 24h
}

const scrubIntervalDefault = 24 * time.Hour

// openScrubber makes the part that heals bodies in segments. It runs only with segments.
func (n *Node) openScrubber() {
	policy := n.cfg.Log.Bodies.Scrub
	if policy.Interval <= 0 {
		policy.Interval = scrubIntervalDefault
	}
	scrubber := scrub.New(scrub.Options{
		Bodies: n.process.bodies, Read: func(read func(queue.View)) uint64 { return n.replica.Read(read).Index },
		Others: n.members.OtherMembers, Network: n.process.network, Group: thisGroup, Clock: n.cfg.Clock, Logger: n.log,
		BytesPerSecond: policy.BytesPerSecond, Interval: policy.Interval,
	})
	n.running.Go(func() { scrubber.Serve(n.stages.life, n.process.network.Listener(peernet.KindBodies, thisGroup)) })
	if n.process.bodiesInUse() != nil {
		n.running.Go(func() { scrubber.Run(n.stages.life) })
	}
}

// openBodies opens the segments of this node, even if it keeps new bodies in memory: segments may
// have earlier ones.
func (p *process) openBodies() (err error) {
	p.bodies, err = bodies.Open(bodies.Options{
		Life: p.ctx, Dir: p.groupDir.BodiesPath(), Guard: p.guard, Logger: p.cfg.Logger, Keep: p.cfg.Log.Bodies.Store == BodiesInSegments,
		CacheBytes: p.cfg.Log.Bodies.CacheBytes, SegmentBytes: p.cfg.Log.Bodies.SegmentBytes, KeepMin: p.cfg.Log.Bodies.KeepMin,
		Keys: p.dir.Keys, Healing: p.dir.NoteHealing,
	})
	if err != nil {
		return p.keyMissing(err)
	}
	changed, err := p.dir.NoteKey(p.bodies.First(), p.groupDir.HasLog())
	if changed && p.groupDir.HasLog() {
		p.cfg.Logger.Warn("this node encrypts new data with a new key from now on; older data keeps its key until snapshots and "+
			"deletes replace it",
			"key", p.cfg.Log.Encryption.Keys.Active().String())
	}
	return err
}

// keyMissing ends the node if err is a missing key.
func (p *process) keyMissing(err error) error {
	if errors.Is(err, encryption.ErrKeyMissing) {
		return p.guard.FailRead(err)
	}
	return err
}

// keyLook is the time between two checks of the keys in use.
const keyLook = 2 * time.Second

// lookAtKeys updates the keys that the node needs. It removes an unneeded key from the records on
// disk before the status shows that.
func (n *Node) lookAtKeys() error {
	if n.process.dir.Keys == nil {
		return nil
	}
	n.keysLock.Lock()
	defer n.keysLock.Unlock()
	return n.lookAtKeysLocked()
}

// lookAtKeysLocked is lookAtKeys for a caller that holds keysLock, so that no key changes
// meanwhile.
func (n *Node) lookAtKeysLocked() error {
	keys := n.process.dir.Keys
	sealed, plain := n.process.bodies.Segments()
	files, err := n.group.Files()
	if err != nil {
		return err
	}
	files.Segments = sealed
	uses, plainLog, err := n.process.dir.ForgetKeys(files)
	if err != nil {
		return err
	}
	s := &EncryptionStatus{Keys: []KeyStatus{}, ClearText: []string{}}
	inFile, active := keys.IDs(), keys.Active()
	for _, use := range uses {
		s.Keys = append(s.Keys, keyStatus(use, active, slices.Contains(inFile, use.ID)))
	}
	for _, id := range inFile {
		if !slices.ContainsFunc(uses, func(use storage.KeyUse) bool { return use.ID == id }) {
			s.Keys = append(s.Keys, KeyStatus{ID: id.String(), InFile: true, For: []string{}})
		}
	}
	if plainLog > 0 {
		s.ClearText = append(s.ClearText, fmt.Sprintf("the log up to entry %d", plainLog))
	}
	if len(plain) > 0 {
		s.ClearText = append(s.ClearText, plural(len(plain), "segment", "of bodies"))
	}
	if count := files.Snapshots[encryption.KeyID{}]; count > 0 {
		s.ClearText = append(s.ClearText, plural(count, "snapshot", ""))
	}
	n.encryption.Store(s)
	return nil
}

func keyStatus(use storage.KeyUse, active encryption.KeyID, inFile bool) KeyStatus {
	s := KeyStatus{ID: use.ID.String(), Encrypts: use.ID == active, InFile: inFile, Needed: true, For: []string{}}
	if s.Encrypts {
		s.For = append(s.For, "new data")
	}
	if use.Log > 0 {
		s.For = append(s.For, fmt.Sprintf("the log up to entry %d", use.Log))
	}
	if use.Segments > 0 {
		s.For = append(s.For, plural(use.Segments, "segment", "of bodies"))
	}
	if use.Snapshots > 0 {
		s.For = append(s.For, plural(use.Snapshots, "snapshot", ""))
	}
	return s
}

// plural returns a count with its noun.
func plural(count int, what, of string) string {
	if count != 1 {
		what += "s"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", count, what, of))
}

// encryptionStatus returns the last result of lookAtKeys. Without a key file everything is in
// clear text.
func (n *Node) encryptionStatus() *EncryptionStatus {
	if n.process.dir.Keys == nil {
		return &EncryptionStatus{Keys: []KeyStatus{}, ClearText: []string{"everything: encryption-key-file is not set"}}
	}
	return n.encryption.Load()
}

// ReplaceKeys replaces the keys of this node by those of another key file. The first of them
// encrypts new data. A file without a key that this node needs is refused. The node must have a
// key file.
func (n *Node) ReplaceKeys(keys *encryption.Keyring) error {
	n.keysLock.Lock()
	defer n.keysLock.Unlock()
	defer n.process.sealing.Changed()
	own := n.process.dir.Keys
	if own == nil || slices.Equal(own.IDs(), keys.IDs()) {
		return nil
	}
	if err := n.lookAtKeysLocked(); err != nil {
		return err
	}
	for _, key := range n.encryption.Load().Keys {
		if id, err := encryption.ParseKeyID(key.ID); err == nil && key.Needed && !slices.Contains(keys.IDs(), id) {
			return fmt.Errorf("it lacks the key %s, which this node needs for %s; add its line", key.ID, strings.Join(key.For, ", "))
		}
	}
	active := keys.Active()
	if active == own.Active() {
		own.Replace(keys)
		return n.lookAtKeysLocked()
	}
	if err := n.process.dir.BeginKey(active, n.process.bodies.Tail()); err != nil {
		return err
	}
	segment := n.process.bodies.ReplaceKeys(keys)
	n.log.Info("this node encrypts new data with another key from now on", "key", active.String())
	return errors.Join(n.process.dir.EndKeys(active, segment), n.lookAtKeysLocked())
}

// bodiesInUse returns the store of bodies in segments, or nil if there are no segments and none
// will be written. Snapshots then contain all bodies.
func (p *process) bodiesInUse() *bodies.Store {
	if !p.bodies.InUse() {
		return nil
	}
	return p.bodies
}

// readBodies returns an answer with the bodies that it refers to.
func (n *Node) readBodies(response codec.Response) (codec.Response, error) {
	read, err := n.replica.ReadBodies(response)
	if err == nil {
		return read, nil
	}
	if !errors.Is(err, bodies.ErrGone) && !errors.As(err, new(*bodies.BeingHealed)) {
		n.log.Error("a body cannot be read", "error", err)
	}
	return codec.Response{}, fmt.Errorf("%w: %w", fault.ErrOutcomeUnknown, err)
}

// bodyMetrics returns the metrics of the bodies in segments.
func (n *Node) bodyMetrics() []Metric {
	stats := n.process.bodies.Stats()
	return []Metric{
		{Name: "seriatim_body_segments", Help: "Segment files with bodies of messages.", Kind: Gauge, Value: float64(stats.Segments)},
		{Name: "seriatim_bodies_stored", Help: "Bodies of messages that are in segment files, not in memory alone.", Kind: Gauge,
			Value: float64(stats.Bodies)},
		{Name: "seriatim_bodies_stored_bytes", Help: "Bytes of the bodies in segment files.", Kind: Gauge, Value: float64(stats.Bytes)},
		{Name: "seriatim_body_memory_bytes", Help: "Memory for bodies that were written last or wait to be written.", Kind: Gauge,
			Value: float64(stats.MemoryBytes)},
		{Name: "seriatim_body_disk_reads_total", Help: "Bodies that were read from segment files because they were not in memory any " +
			"more.", Kind: Counter, Value: float64(stats.DiskReads)},
		{Name: "seriatim_bodies_damaged_total", Help: "Bodies in segment files that were found damaged.", Kind: Counter,
			Value: float64(stats.Damaged)},
		{Name: "seriatim_bodies_healed_total", Help: "Damaged bodies that were replaced by the copy of another node.", Kind: Counter,
			Value: float64(stats.Healed)},
		{Name: "seriatim_body_checked_bytes_total", Help: "Bytes of segment files that were read to find damage.",
			Kind: Counter, Value: float64(stats.Checked)},
		{Name: "seriatim_body_freed_bytes_total", Help: "Bytes of deleted bodies given back to the file system.", Kind: Counter,
			Value: float64(stats.FreedBytes)},
	}
}
