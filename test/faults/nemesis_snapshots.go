package faults

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// snapshotFaults make a follower lag behind what the leader's log still holds.
// Thresholds of some ten KiB make every return of a node a likely install.
func snapshotFaults() []fault {
	return []fault{
		{name: "follower behind", area: areaSnapshots, begin: followerBehind},
		{name: "follower behind twice", area: areaSnapshots, begin: followerBehindTwice},
	}
}

// demandedSnapshots need the hook of a fault build. Beside a large state the log does not
// grow by as much as a snapshot is long, and a node takes none by itself.
func demandedSnapshots() []fault {
	return []fault{{name: "snapshots taken", area: areaSnapshots, begin: takeSnapshots}}
}

// takeSnapshots lets each node that no fault has in its hands write one.
func takeSnapshots(s *injection, ctx context.Context) error {
	taken := int64(0)
	for _, n := range s.cluster.Running() {
		if s.isClaimed(n) {
			continue
		}
		if err := s.admin(ctx, n, http.MethodPost, "/v1/snapshot", ""); err != nil {
			return err
		}
		taken++
	}
	s.observe("snapshots demanded", "", taken)
	return nil
}

// followerBehind keeps a follower away until the log that it lacks is gone, so
// that it must be given a snapshot.
func followerBehind(s *injection, ctx context.Context) error {
	follower, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	s.undo(func() error { return s.awaitInstall(follower) })
	return s.outdate(ctx, follower)
}

// followerBehindTwice kills the node again as soon as it is back, so that a
// second snapshot follows the first or meets it half written.
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

// outdate kills a node and waits until the leader's log begins behind what the
// node has. That is not so after all if leadership moves, or the time ends.
func (s *injection) outdate(ctx context.Context, n *harness.Node) error {
	if err := n.Kill(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, outdateWithin+s.reading)
	defer cancel()
	snapshots := map[uint64]bool{}
	for len(snapshots) < outdatedSnapshots && pause(bounded, 100*time.Millisecond) {
		for _, other := range s.cluster.Running() {
			if status, err := other.Status(bounded); err == nil && status.Role == "leader" {
				snapshots[status.LastSnapshotIndex] = true
				s.hasten(bounded, other)
			}
		}
	}
	return nil
}

// hasten lets the leader write the next snapshot, if a backlog keeps it from doing so by
// itself.
func (s *injection) hasten(ctx context.Context, leader *harness.Node) {
	if s.hooks && s.backlog != nil {
		_ = s.admin(ctx, leader, http.MethodPost, "/v1/snapshot", "") // if it cannot, the log goes on
	}
}

// awaitInstall starts the node and notes if the leader sent it a snapshot: the
// first that is restored is that of the start. It may come long after the node is
// ready: the longer a node was away, the longer the leader waits between two tries,
// up to ten seconds.
func (s *injection) awaitInstall(n *harness.Node) error {
	if err := n.Start(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(context.Background(), s.recovery())
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
