package consensus

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/raft"
)

// snapshotRetryPart of the bytes between snapshots must be written before a
// failed one is tried again.
const snapshotRetryPart = 8

// snapshotWhenDue takes a snapshot whenever enough was written or deleted since the
// last one, until the group closes.
func (g *Group) snapshotWhenDue() {
	g.log.SnapshotDueAfter(g.snapshotDue())
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-g.log.WhenSnapshotDue():
		}
		if !g.log.SnapshotDue() {
			continue // as when the log grew while the last one was being written
		}
		if err := g.Snapshot(g.ctx); err != nil && g.ctx.Err() == nil {
			g.options.Logger.Warn("no snapshot could be taken, it will be tried again", "error", err)
			g.log.PostponeSnapshot(snapshotRetryPart)
		}
	}
}

// Snapshot writes a snapshot now and shortens the log to what slow followers
// may still need.
func (g *Group) Snapshot(ctx context.Context) error {
	g.snapshotting.Store(true)
	defer g.snapshotting.Store(false)
	settings := g.raft.ReloadableConfig()
	settings.TrailingLogs = g.log.Trailing(g.raft.LastIndex(), g.options.Snapshot.TrailingBytes)
	if err := g.raft.ReloadConfig(settings); err != nil {
		return err
	}
	appended, deleted, began := g.log.Appended(), g.log.Deleted(), g.options.Clock.Monotonic()
	err := g.await(ctx, g.raft.Snapshot())
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil // since the start; if one is due, the next entry asks again
	}
	if err != nil {
		return err
	}
	if err := g.dropInlined(); err != nil {
		return err
	}
	g.log.SnapshotTaken(appended, deleted, g.snapshotDue())
	g.snapshotsTaken.Add(1)
	g.snapshotSeconds.Observe((g.options.Clock.Monotonic() - began).Seconds())
	return nil
}

// What makes a snapshot worth it on a disk that is nearly full.
const (
	reclaimLeast = 1 << 20 // bytes of deleted bodies
	reclaimPart  = 8       // of the size of the snapshot, which deleted bodies have to make up
	reclaimRoom  = 2       // how many snapshots must find room in what is free
)

// ReclaimSpace takes a snapshot soon if that gives space of deleted bodies back, for a disk
// that is nearly full, and reports whether it does. A snapshot that finds no room ends the
// node, and all nodes may be in the same place. So state, the memory that the state takes, is
// what says how large it will be: the newest one may be from before the queues were filled,
// or purged. It is 0 if it is not known. While a snapshot is being written it may be that one
// which gives the space back.
func (g *Group) ReclaimSpace(free uint64, state int64) bool {
	if g.snapshotting.Load() {
		return false
	}
	size := state
	if size == 0 {
		size = g.snapshots.Newest().Bytes
	}
	if !worthReclaiming(g.log.Unreclaimed(), size, free) {
		return false
	}
	g.log.DemandSnapshot()
	return true
}

// worthReclaiming reports whether deleted bytes are worth a snapshot of a size.
func worthReclaiming(deleted, size int64, free uint64) bool {
	return deleted >= max(reclaimLeast, size/reclaimPart) && uint64(size) < free/reclaimRoom
}

// What makes a snapshot worth it for the sake of the next start.
const (
	deadLogPart = 8 // of the log that causes a snapshot, which must be there
	deadPart    = 2 // of that log, which the state must have lost again
	deadState   = 2 // how many times that log the state may be, in memory, where it takes more than in a snapshot
)

// deadLog says what the state had lost at the last snapshot. One goroutine asks.
type deadLog struct {
	snapshot int64 // LogStore.Snapshotted
	lost     int64
}

// DropDeadLog takes a snapshot soon if most of the log since the last one is about what was
// deleted or purged since, and reports whether it does: a start would apply it all. State is
// the memory that the state takes, and lost all that it has ever become smaller by; bodies
// in segments are no part of either.
func (g *Group) DropDeadLog(free uint64, state, lost int64) bool {
	lost += g.log.Deleted()
	if snapshotted := g.log.Snapshotted(); snapshotted != g.dead.snapshot {
		g.dead = deadLog{snapshotted, lost}
	}
	if g.snapshotting.Load() || !mostlyDead(g.log.Appended()-g.dead.snapshot, g.options.Snapshot.LogBytes, state, lost-g.dead.lost, free) {
		return false
	}
	g.log.DemandSnapshot()
	return true
}

// mostlyDead reports whether so much of log, bytes since the last snapshot, is dead that a
// snapshot costs less than what it saves a start. One that finds no room ends the node.
func mostlyDead(log, usual, state, lost int64, free uint64) bool {
	return log >= usual/deadLogPart && lost >= log/deadPart && state <= deadState*log && uint64(state) < free/reclaimRoom
}

// inlinedDue is how much log causes a snapshot while the newest one has bodies in it, which
// takes as much space as all segments, and as long to restore as it takes to write them.
const inlinedDue = 64 << 10

// dropInlined removes a snapshot with bodies in it when another one has taken its place.
func (g *Group) dropInlined() error {
	inlined := g.machine.inlined.Load()
	if inlined == 0 || g.snapshots.Newest().Index <= inlined {
		return nil
	}
	metas, err := g.snapshots.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	g.machine.inlined.CompareAndSwap(inlined, 0)
	return g.snapshots.DropOlder(metas[0].ID)
}

// snapshotSpread is the part of the log between two snapshots over which the nodes
// are spread, each in its place, so that not all of them write one at a time.
const snapshotSpread = 4

// snapshotDue is how much log causes the next snapshot on this node.
func (g *Group) snapshotDue() int64 {
	if inlined := g.machine.inlined.Load(); inlined != 0 && g.snapshots.Newest().Index <= inlined {
		return inlinedDue
	}
	// Writing a state that is larger than the log since the last snapshot
	// would cost more than it saves.
	due := max(g.options.Snapshot.LogBytes, g.snapshots.Newest().Bytes)
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
