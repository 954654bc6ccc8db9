package consensus

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/raft"
)

// snapshotRetryPart: one part in 8 of the usual bytes must be written before a failed snapshot is
// retried.
const snapshotRetryPart = 8

// snapshotWhenDue takes a snapshot whenever enough was written or deleted, until the group closes.
func (g *Group) snapshotWhenDue() {
	g.stores.log.SnapshotDueAfter(g.snapshotDue())
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-g.stores.log.WhenSnapshotDue():
		}
		if !g.stores.log.SnapshotDue() {
			continue // the signal was sent before the last snapshot was done
		}
		if err := g.Snapshot(g.ctx); err != nil && g.ctx.Err() == nil {
			g.options.Logger.Warn("no snapshot could be taken, retrying later", "error", err)
			g.stores.log.PostponeSnapshot(snapshotRetryPart)
		}
	}
}

// Snapshot writes a snapshot now and compacts the log, except the part kept for slow followers.
func (g *Group) Snapshot(ctx context.Context) error {
	g.snapshotting.Store(true)
	defer g.snapshotting.Store(false)
	settings := g.raft.ReloadableConfig()
	settings.TrailingLogs = g.stores.log.Trailing(g.raft.LastIndex(), g.options.Snapshot.TrailingBytes)
	if err := g.raft.ReloadConfig(settings); err != nil {
		return err
	}
	appended, deleted, began := g.stores.log.Appended(), g.stores.log.Deleted(), g.options.Clock.Monotonic()
	err := g.await(ctx, g.raft.Snapshot())
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil // no entry since the start; the next entry checks again
	}
	if err != nil {
		return err
	}
	if err := g.dropInlined(); err != nil {
		return err
	}
	g.stores.log.SnapshotTaken(appended, deleted, g.snapshotDue())
	g.snapshotsTaken.Add(1)
	g.snapshotSeconds.Observe((g.options.Clock.Monotonic() - began).Seconds())
	return nil
}

// Conditions for a snapshot on a nearly full disk.
const (
	reclaimLeast = 1 << 20 // bytes of deleted bodies
	reclaimPart  = 8       // deleted bodies must be at least one part in 8 of the snapshot's size
	reclaimRoom  = 2       // so many snapshots must fit into the free space
)

// ReclaimSpace requests a snapshot if that reclaims space of deleted bodies on a nearly full disk,
// and reports whether it does. A snapshot that runs out of space ends the node, possibly on all
// nodes at once. So its size is estimated from state, the memory of the state in bytes (0:
// unknown), and not from the newest snapshot, which may predate a backlog or a purge. A snapshot
// that is being written may already reclaim the space.
func (g *Group) ReclaimSpace(free uint64, state int64) bool {
	if g.snapshotting.Load() {
		return false
	}
	size := state
	if size == 0 {
		size = g.stores.snapshots.Newest().Bytes
	}
	if !worthReclaiming(g.stores.log.Unreclaimed(), size, free) {
		return false
	}
	g.stores.log.DemandSnapshot()
	return true
}

// worthReclaiming reports whether deleted bytes justify a snapshot of this size.
func worthReclaiming(deleted, size int64, free uint64) bool {
	return deleted >= max(reclaimLeast, size/reclaimPart) && uint64(size) < free/reclaimRoom
}

// Conditions for a snapshot that shortens the next start.
const (
	deadLogPart = 8 // the log must have one part in 8 of the bytes that make a snapshot due
	deadPart    = 2 // the state must have lost at least one part in 2 of that log
	deadState   = 2 // the state in memory, which is larger than a snapshot, may be at most twice that log
)

// deadLog holds the counts of DropDeadLog at the last snapshot. Used by one goroutine.
type deadLog struct {
	snapshot int64 // LogStore.Snapshotted
	lost     int64 // bytes by which the state shrank, and bytes of deleted bodies
}

// DropDeadLog requests a snapshot if most of the log since the last one concerns deleted or purged
// messages, and reports whether it does: a start would apply it all. state is the memory of the
// state, lost the total by which it ever shrank, in bytes; both exclude bodies in segments.
func (g *Group) DropDeadLog(free uint64, state, lost int64) bool {
	lost += g.stores.log.Deleted()
	if snapshotted := g.stores.log.Snapshotted(); snapshotted != g.dead.snapshot {
		g.dead = deadLog{snapshotted, lost}
	}
	grown := g.stores.log.Appended() - g.dead.snapshot
	if g.snapshotting.Load() || !mostlyDead(grown, g.options.Snapshot.LogBytes, state, lost-g.dead.lost, free) {
		return false
	}
	g.stores.log.DemandSnapshot()
	return true
}

// mostlyDead reports whether so much of the log since the last snapshot is dead that a snapshot
// costs less than it saves at a start. A snapshot that runs out of space ends the node.
func mostlyDead(log, usual, state, lost int64, free uint64) bool {
	return log >= usual/deadLogPart && lost >= log/deadPart && state <= deadState*log && uint64(state) < free/reclaimRoom
}

// inlinedDue is the number of bytes of log that make a snapshot due while the newest one has
// inlined bodies: that one takes as much space as all segments, and restoring it rewrites them.
const inlinedDue = 64 << 10

// dropInlined removes a snapshot with inlined bodies once a newer one exists.
func (g *Group) dropInlined() error {
	inlined := g.machine.inlined.Load()
	if inlined == 0 || g.stores.snapshots.Newest().Index <= inlined {
		return nil
	}
	metas, err := g.stores.snapshots.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	g.machine.inlined.CompareAndSwap(inlined, 0)
	return g.stores.snapshots.DropOlder(metas[0].ID)
}

// snapshotSpread: the nodes' snapshots are spread over one part in 4 of the log between two of
// them, so that not all nodes write at once.
const snapshotSpread = 4

// snapshotDue returns the bytes of log after which this node takes the next snapshot.
func (g *Group) snapshotDue() int64 {
	if inlined := g.machine.inlined.Load(); inlined != 0 && g.stores.snapshots.Newest().Index <= inlined {
		return inlinedDue
	}
	// Writing a state larger than the log since the last snapshot would cost more than it saves.
	due := max(g.options.Snapshot.LogBytes, g.stores.snapshots.Newest().Bytes)
	var ids []string
	for _, server := range g.raft.GetConfiguration().Configuration().Servers {
		ids = append(ids, string(server.ID))
	}
	slices.Sort(ids)
	if place := slices.Index(ids, g.options.NodeID); place > 0 {
		due += due / snapshotSpread * int64(place) / int64(len(ids))
	}
	return due
}
