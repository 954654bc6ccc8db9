package faults

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// snapshotFaults keep a follower away until the leader's log no longer reaches back to it. Because
// the thresholds are some ten KiB, almost every return of a node needs a snapshot.
func snapshotFaults() []fault {
	return []fault{
		{name: "follower behind", area: areaSnapshots, begin: followerBehind},
		{name: "follower behind twice", area: areaSnapshots, begin: followerBehindTwice},
	}
}

// demandedSnapshots need a fault build, in which a snapshot can be requested. With a large state
// the log does not grow enough for a node to take one by itself.
func demandedSnapshots() []fault {
	return []fault{{name: "snapshots taken", area: areaSnapshots, begin: takeSnapshots}}
}

// takeSnapshots makes each node write a snapshot, except nodes that another fault uses.
func takeSnapshots(s *injection, ctx context.Context) error {
	taken := int64(0)
	for _, n := range s.testbed.cluster.Running() {
		if s.testbed.isClaimed(n) {
			continue
		}
		if err := s.testbed.admin(ctx, n, http.MethodPost, "/v1/snapshot", ""); err != nil {
			return err
		}
		taken++
	}
	s.testbed.observe("snapshots demanded", "", taken)
	return nil
}

// followerBehind keeps a follower away until the log it needs is gone, so that it must install a
// snapshot.
func followerBehind(s *injection, ctx context.Context) error {
	follower, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	s.undo(func() error { return s.awaitInstall(follower) })
	return s.outdate(ctx, follower)
}

// followerBehindTwice kills the node again as soon as it is back, so that a second snapshot follows
// the first, or the first is only half written.
func followerBehindTwice(s *injection, ctx context.Context) error {
	follower, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	s.undo(func() error { return s.awaitInstall(follower) })
	if err := s.outdate(ctx, follower); err != nil {
		return err
	}
	if err := follower.Start(); err != nil {
		return err
	}
	pause(ctx, time.Duration(s.random.IntN(1500))*time.Millisecond)
	return s.outdate(ctx, follower)
}

// outdatedSnapshots is the number of new leader snapshots after which the log of an absent node
// cannot be continued: the current one, one under way, one after the end of the node's log,
// because a leader keeps less log than lies between two snapshots, and one more, because the
// log is truncated some time after the snapshot.
const outdatedSnapshots = 4

// outdateWithin bounds the absence of the node: on a busy machine the log grows slowly.
const outdateWithin = 20 * time.Second

// outdate kills a node and waits until the leader's log begins after the node's last entry. This
// may fail if leadership moves or the time ends.
func (s *injection) outdate(ctx context.Context, n *harness.Node) error {
	if err := n.Kill(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, outdateWithin+s.testbed.reading)
	defer cancel()
	snapshots := map[uint64]bool{}
	for len(snapshots) < outdatedSnapshots && pause(bounded, 100*time.Millisecond) {
		for _, other := range s.testbed.cluster.Running() {
			if status, err := other.Status(bounded); err == nil && status.Role == "leader" {
				snapshots[status.LastSnapshotIndex] = true
				s.hasten(bounded, other)
			}
		}
	}
	return nil
}

// hasten makes the leader write the next snapshot if the backlog would delay it.
func (s *injection) hasten(ctx context.Context, leader *harness.Node) {
	if s.testbed.hooks && s.testbed.backlog != nil {
		_ = s.testbed.admin(ctx, leader, http.MethodPost, "/v1/snapshot", "") // if it refuses, the log still grows
	}
}

// awaitInstall starts the node and records whether the leader sent it a snapshot. The first
// restored snapshot is the node's own, at its start. The leader's may come long after the node is
// ready, since the leader waits up to ten seconds between attempts.
func (s *injection) awaitInstall(n *harness.Node) error {
	if err := n.Start(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(context.Background(), s.testbed.recovery())
	defer cancel()
	for {
		if metrics, err := n.Metrics(bounded); err == nil && restored(metrics) > 1 {
			return nil
		}
		if !pause(bounded, 150*time.Millisecond) || !n.Running() {
			return nil
		}
	}
}

// restored returns the number of snapshots that a node has restored since its start.
func restored(metrics string) float64 {
	return metric(metrics, "seriatim_raft_snapshots_restored_total")
}

// metric is the value of a metric without labels, 0 if it is not there.
func metric(metrics, name string) float64 {
	for line := range strings.Lines(metrics) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			// A number that does not parse is 0, which proves nothing.
			count, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return count
		}
	}
	return 0
}
