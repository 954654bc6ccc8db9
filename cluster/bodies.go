package cluster

import (
	"errors"
	"fmt"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm/codec"
)

// Where a node keeps the bodies of messages.
const (
	BodiesInMemory   = "memory"   // and in every snapshot
	BodiesInSegments = "segments" // in files; snapshots refer to them
)

// BodyPolicy says where this node keeps the bodies of messages. Each node may have
// another one.
type BodyPolicy struct {
	Store        string // BodiesInMemory or BodiesInSegments; default BodiesInMemory
	CacheBytes   int64  // of the newest bodies in segments, kept in memory, too; default 16 MiB
	SegmentBytes int64  // of one file; default 64 MiB
	KeepMin      int    // shorter bodies stay in memory; default 128
}

// openBodies opens the segments of this node. It has them, too, if new bodies are kept in
// memory: earlier ones may be there.
func (p *process) openBodies() (err error) {
	p.bodies, err = bodies.Open(bodies.Options{
		Life: p.ctx, Dir: p.groupDir.BodiesPath(), Guard: p.guard, Logger: p.cfg.Logger, Keep: p.cfg.Log.Bodies.Store == BodiesInSegments,
		CacheBytes: p.cfg.Log.Bodies.CacheBytes, SegmentBytes: p.cfg.Log.Bodies.SegmentBytes, KeepMin: p.cfg.Log.Bodies.KeepMin,
	})
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
// no reason to say that nothing was received.
func (n *Node) withBodies(o leader.Outcome) (leader.Outcome, error) {
	response, err := n.readBodies(o.Response)
	if err != nil {
		return leader.Outcome{}, err
	}
	o.Response = response
	return o, nil
}

// readBodies puts into an answer the bodies that it refers to.
func (n *Node) readBodies(response codec.Response) (codec.Response, error) {
	read, err := n.replica.ReadBodies(response)
	if err == nil {
		return read, nil
	}
	if !errors.Is(err, bodies.ErrGone) {
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
		{Name: "seriatim_body_freed_bytes_total", Help: "Bytes of deleted bodies given back to the file system.", Kind: Counter, Value: float64(stats.FreedBytes)},
	}
}
