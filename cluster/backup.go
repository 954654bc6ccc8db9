package cluster

import (
	"context"
	"io"

	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/recovery"
	"github.com/seriatimq/seriatim/cluster/route"
)

// openRecovery makes the part that backs up and restores, and serves restores that other
// nodes forward.
func (n *Node) openRecovery() {
	sizes := n.cfg.Log.Bodies
	n.recovery = recovery.New(recovery.Options{
		NodeID: n.process.nodeID, NodeName: n.cfg.NodeName, ClusterID: n.process.clusterID, DataDir: n.cfg.DataDir,
		Keys: n.cfg.Log.Encryption.Keys, Pace: n.cfg.Snapshot, Disk: n.cfg.Disk,
		Segments: recovery.Segments{CacheBytes: sizes.CacheBytes, SegmentBytes: sizes.SegmentBytes, KeepMin: sizes.KeepMin},
		Timeout:  n.cfg.Limits.Timeout, Monotonic: n.cfg.Clock.Monotonic, Log: n.log,
		Group: n.group, Replica: n.replica, Network: n.process.network, Closing: n.stages.closing, Life: n.stages.life,
		Term: n.term.Load, ReadBarrier: n.ReadBarrier, LockMembers: n.members.Lock, Room: n.pressure.room,
		AdoptAccessKeys: n.adoptAccessKeys,
	})
	n.running.Go(func() { n.recovery.Serve(n.process.network.Listener(peernet.KindRestore, 0)) })
}

// Backup captures everything acknowledged before the call, on any node. The capture is
// quick for a state of any size, and the node serves clients while the Backup is written.
func (n *Node) Backup(ctx context.Context) (*Backup, error) {
	if !n.Calls.Enter() {
		return nil, route.ErrClosing
	}
	defer n.Calls.Leave()
	return n.recovery.Backup(ctx)
}

// Restore replaces the state of a fresh cluster by that of a backup, from any node. See
// recovery.Service.
func (n *Node) Restore(ctx context.Context, backup io.Reader, options RestoreOptions) (Restored, error) {
	if !n.Calls.Enter() {
		return Restored{}, route.ErrClosing
	}
	defer n.Calls.Leave()
	return n.recovery.Restore(ctx, backup, options)
}
