package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/scrub"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// Where a node keeps the bodies of messages.
const (
	BodiesInMemory   = "memory"   // and in every snapshot
	BodiesInSegments = "segments" // in files; snapshots refer to them
)

// BodyPolicy says where this node keeps the bodies of messages. Each node may have
// another one.
type BodyPolicy struct {
	Store        string // BodiesInMemory or BodiesInSegments; default BodiesInSegments
	CacheBytes   int64  // of the newest bodies in segments, kept in memory, too; default 16 MiB
	SegmentBytes int64  // of one file; default 64 MiB
	KeepMin      int    // shorter bodies stay in memory; default 128
	Scrub        ScrubPolicy
}

// ScrubPolicy says how bodies in segments are read from disk to see whether they are sound.
type ScrubPolicy struct {
	BytesPerSecond int64         // 0: they are not
	Interval       time.Duration // from the end of one walk over all of them to the next; default 24h
}

const scrubIntervalDefault = 24 * time.Hour

// openScrubber makes what heals bodies in segments. As long as there are none, nothing runs.
func (n *Node) openScrubber() {
	policy := n.cfg.Log.Bodies.Scrub
	if policy.Interval <= 0 {
		policy.Interval = scrubIntervalDefault
	}
	scrubber := scrub.New(scrub.Options{
		Bodies: n.process.bodies, Read: func(read func(queue.View)) uint64 { return n.replica.Read(read).Index }, Others: n.otherMembers,
		Network: n.process.network, Group: thisGroup, Clock: n.cfg.Clock, Logger: n.log, BytesPerSecond: policy.BytesPerSecond, Interval: policy.Interval,
	})
	n.running.Go(func() { scrubber.Serve(n.life, n.process.network.Listener(peernet.KindBodies, thisGroup)) })
	if n.process.bodiesInUse() != nil {
		n.running.Go(func() { scrubber.Run(n.life) })
	}
}

// otherMembers are the members of the group but this node.
func (n *Node) otherMembers() []string {
	members := n.group.Members()
	return slices.DeleteFunc(slices.Concat(members.Voters, members.Learners), func(id string) bool { return id == n.process.nodeID })
}

// openBodies opens the segments of this node. It has them, too, if new bodies are kept in
// memory: earlier ones may be there.
func (p *process) openBodies() (err error) {
	p.bodies, err = bodies.Open(bodies.Options{
		Life: p.ctx, Dir: p.groupDir.BodiesPath(), Guard: p.guard, Logger: p.cfg.Logger, Keep: p.cfg.Log.Bodies.Store == BodiesInSegments,
		CacheBytes: p.cfg.Log.Bodies.CacheBytes, SegmentBytes: p.cfg.Log.Bodies.SegmentBytes, KeepMin: p.cfg.Log.Bodies.KeepMin,
		Keys: p.dir.Keys,
	})
	if err != nil {
		return p.keyMissing(err)
	}
	changed, err := p.dir.NoteKey(p.bodies.First())
	if changed && p.groupDir.HasLog() {
		p.cfg.Logger.Warn("what this node writes is encrypted with a new key from now on; what is older stays as it is until snapshots and deletes replace it",
			"key", p.cfg.Log.Encryption.Keys.Active().String())
	}
	return err
}

// keyMissing ends the node for a key that it was not given, if err says so.
func (p *process) keyMissing(err error) error {
	if errors.Is(err, encryption.ErrKeyMissing) {
		return p.guard.FailRead(err)
	}
	return err
}

// bodiesInUse is nil if there are no segments and will be none: snapshots are whole then.
func (p *process) bodiesInUse() *bodies.Store {
	if !p.bodies.InUse() {
		return nil
	}
	return p.bodies
}

// withBodies is an outcome with the bodies that it refers to. One that cannot be read is
// no reason to say that nothing was received. It waits for one that is being healed.
func (n *Node) withBodies(ctx context.Context, r *request, o leader.Outcome) (leader.Outcome, error) {
	for {
		response, err := n.readBodies(o.Response)
		if err == nil {
			o.Response = response
			return o, nil
		}
		var healed *bodies.BeingHealed
		if !errors.As(err, &healed) {
			return leader.Outcome{}, err
		}
		select {
		case <-healed.Done():
			if healed.Outcome() != nil {
				return leader.Outcome{}, err
			}
		case <-ctx.Done():
			return leader.Outcome{}, err
		case <-r.over:
			return leader.Outcome{}, err
		}
	}
}

// readBodies puts into an answer the bodies that it refers to.
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

// bodyMetrics are the numbers of the bodies in segments.
func (n *Node) bodyMetrics() []Metric {
	stats := n.process.bodies.Stats()
	return []Metric{
		{Name: "seriatim_body_segments", Help: "Segment files with bodies of messages.", Kind: Gauge, Value: float64(stats.Segments)},
		{Name: "seriatim_bodies_stored", Help: "Bodies of messages that are in segment files, not in memory alone.", Kind: Gauge, Value: float64(stats.Bodies)},
		{Name: "seriatim_bodies_stored_bytes", Help: "Bytes of these.", Kind: Gauge, Value: float64(stats.Bytes)},
		{Name: "seriatim_body_memory_bytes", Help: "Memory for bodies that were written last or wait to be written.", Kind: Gauge, Value: float64(stats.MemoryBytes)},
		{Name: "seriatim_body_disk_reads_total", Help: "Bodies that were read from segment files because they were not in memory any more.", Kind: Counter, Value: float64(stats.DiskReads)},
		{Name: "seriatim_bodies_damaged_total", Help: "Bodies in segment files that were found damaged.", Kind: Counter, Value: float64(stats.Damaged)},
		{Name: "seriatim_bodies_healed_total", Help: "Damaged bodies that were written anew, as another node has them.", Kind: Counter, Value: float64(stats.Healed)},
		{Name: "seriatim_body_checked_bytes_total", Help: "Bytes of segment files that were read to see whether they are sound.", Kind: Counter, Value: float64(stats.Checked)},
		{Name: "seriatim_body_freed_bytes_total", Help: "Bytes of deleted bodies given back to the file system.", Kind: Counter, Value: float64(stats.FreedBytes)},
	}
}
