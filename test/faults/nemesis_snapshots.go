package faults

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/test/harness"
)

// snapshotFaults make a follower lag behind what the leader's log still holds.
// Thresholds of some ten KiB make every return of a node a likely install.
func snapshotFaults() []fault {
	return []fault{
		{name: "follower behind", area: areaSnapshots, least: 6 * time.Second, most: 9 * time.Second, begin: followerBehind},
		{name: "follower behind twice", area: areaSnapshots, least: 5 * time.Second, most: 6 * time.Second, begin: followerBehindTwice},
	}
}

// followerBehind keeps a follower away until the log that it lacks is gone, so
// that it must be given a snapshot.
func followerBehind(s *strike, ctx context.Context) error {
	follower, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	s.undo(func() error { return s.awaitInstall(follower) })
	return follower.Kill()
}

// followerBehindTwice kills the node again as soon as it is back, so that a
// second snapshot follows the first or meets it half written.
func followerBehindTwice(s *strike, ctx context.Context) error {
	follower, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	s.undo(func() error { return s.awaitInstall(follower) })
	if err := follower.Kill(); err != nil {
		return err
	}
	pause(ctx, s.hold)
	if err := follower.Start(); err != nil {
		return err
	}
	pause(ctx, time.Duration(s.random.IntN(1500))*time.Millisecond)
	return follower.Kill()
}

// awaitInstall starts the node and notes if the leader sent it a snapshot: the
// first that is restored is that of the start. It may come after the node is ready.
func (s *strike) awaitInstall(n *harness.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*recovery)
	defer cancel()
	if err := n.Start(); err != nil {
		return err
	}
	for range 40 {
		if metrics, err := n.Metrics(ctx); err == nil && restored(metrics) > 1 {
			return nil
		}
		if !pause(ctx, 150*time.Millisecond) || !n.Running() {
			break
		}
	}
	return nil
}

// restored is how many snapshots a node says that it restored since its start.
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
