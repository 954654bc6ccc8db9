package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Names of what these scenarios record besides the events of the plain faults.
const (
	killsAtRemoval = "kills while a file was removed"
	cutInstalls    = "power cuts of a node that was sent a snapshot"
	sameLeaders    = "leaders again after a failed sync"
	noElections    = "elections refused to an empty disk"
)

// diskCombinations have broken other systems. Each is a fixed order of steps, as its name says.
// Some need a tracer, some a network of their own.
func diskCombinations(tracer, wires bool) []fault {
	faults := []fault{
		{name: "bit flipped in a follower, leader killed", least: time.Second, most: 3 * time.Second, begin: flipThenLead},
		{name: "power cut of a node that is sent a snapshot", begin: cutInstall},
		{name: "empty disk beside a node that lags", begin: emptyVoter},
		{name: "disk hang until the leader leaves", least: 8 * time.Second, most: 10 * time.Second, single: true, begin: hangLeader},
	}
	if tracer {
		faults = append(faults,
			fault{name: "sync error, same leader again", begin: failThenLead},
			fault{name: "crash while the log is shortened", least: 500 * time.Millisecond, most: time.Second, begin: killAtRemoval},
		)
	}
	if wires {
		faults = append(faults,
			fault{name: "power cut of all while one is cut off", least: 2 * time.Second, most: 4 * time.Second, begin: cutAllBesideOne},
			fault{name: "power cut of one, slow lines", least: 3 * time.Second, most: 6 * time.Second, begin: cutOneSlow},
		)
	}
	for i := range faults {
		faults[i].area = areaDisk
	}
	return faults
}

// cutAllBesideOne cuts the power of all nodes after one node was isolated. The messages
// acknowledged meanwhile are on the two other disks, and the log of the isolated node must not win
// the election.
func cutAllBesideOne(s *injection, ctx context.Context) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	if err := s.takeAll(); err != nil {
		return err
	}
	others := s.testbed.cluster.Followers(leader)
	if len(others) == 0 {
		return errTooFew
	}
	if err := s.wire(network.Isolate(others[0].Name)); err != nil {
		return err
	}
	pause(ctx, 2*time.Second)
	if err := s.cut(s.testbed.cluster.Nodes...); err != nil {
		return err
	}
	return s.startAll()
}

// startAll starts every node of the injection that does not run.
func (s *injection) startAll() error {
	for _, n := range s.nodes {
		if n.Running() {
			continue
		}
		if err := n.Start(); err != nil {
			return err
		}
	}
	return nil
}

// cutOneSlow cuts the power of a node whose lines are so slow that catching up takes longer than an
// election.
func cutOneSlow(s *injection, ctx context.Context) error {
	n, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	if err := s.wire(s.slow(n.Name)); err != nil {
		return err
	}
	if err := s.cut(n); err != nil {
		return err
	}
	return n.Start()
}

// flipThenLead damages a follower's log and kills the leader. The follower must refuse to start
// instead of becoming the leader.
func flipThenLead(s *injection, ctx context.Context) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	followers := s.testbed.cluster.Followers(leader)
	if len(followers) == 0 || !s.take(followers[0]) || !s.take(leader) {
		return errBusy
	}
	if err := s.flipOf(followers[0], disk.ClassLog); err != nil {
		return err
	}
	return leader.Kill()
}

// failThenLead makes one sync of the leader fail. The node ends, restarts, and is made the leader
// again. The entries of the failed sync must not count as written.
func failThenLead(s *injection, ctx context.Context) error {
	n, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	s.touch(history.TouchError, n)
	trouble, err := disk.Inject(n.Pid(), disk.Injection{Calls: disk.Syncs, Error: "EIO", From: 1 + s.random.IntN(5)})
	if err != nil {
		return err
	}
	if err := errors.Join(s.left(n, diskErrors, exitDisk), trouble.Stop(), n.Start(), n.WaitReady(ctx, s.testbed.recovery())); err != nil {
		return err
	}
	s.touch(history.TouchTransfer, s.testbed.cluster.Nodes...)
	if err := s.testbed.anyAdmin(ctx, "/v1/cluster/transfer-leader", fmt.Sprintf(`{"node":%q}`, n.Name)); err != nil {
		return err
	}
	if leader, err := s.leader(ctx); err == nil && leader == n {
		s.testbed.observe(sameLeaders, n.Name, 1)
	}
	return nil
}

// cutInstall cuts the power of a node while it installs a snapshot: in a fault build at a certain
// step, otherwise some time after its start.
func cutInstall(s *injection, ctx context.Context) error {
	n, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	if err := s.outdate(ctx, n); err != nil {
		return err
	}
	midway := []string{"snapshot-written", "snapshot-rename-before", "snapshot-rename-after"}
	at := midway[s.random.IntN(len(midway))]
	if s.testbed.hooks {
		err = s.startInto(n, at+"=hang")
	} else {
		err = n.Start()
	}
	if err != nil {
		return err
	}
	if s.testbed.hooks && s.arrives(ctx, n, at) {
		s.testbed.observe(cutInstalls, n.Name, 1)
	} else {
		pause(ctx, 200*time.Millisecond+time.Duration(s.random.IntN(800))*time.Millisecond)
	}
	if err := s.cut(n); err != nil {
		return err
	}
	return s.awaitInstall(n)
}

// killAtRemoval kills a node when it removes a file of the log or an old snapshot, and then cuts
// the power, so that the removed file may be back.
func killAtRemoval(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	trouble, err := disk.Inject(n.Pid(), disk.Injection{Calls: "unlink,unlinkat,rmdir", Signal: "KILL", From: 1 + s.random.IntN(3)})
	if err != nil {
		return err
	}
	code, err := n.WaitExit(letGoWithin)
	if err := errors.Join(err, trouble.Stop()); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	if code == -9 {
		s.testbed.observe(killsAtRemoval, n.Name, 1)
	}
	return s.cut(n)
}

// emptyVoter stops one follower, then empties the disk of the other one and kills the leader, which
// alone has the last acknowledged messages. The two followers must not elect a leader, since the
// empty node is no longer a member. Once the old leader is back, nothing is lost.
func emptyVoter(s *injection, ctx context.Context) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	if err := s.takeAll(); err != nil {
		return err
	}
	others := s.testbed.cluster.Followers(leader)
	if len(s.testbed.cluster.Nodes) != threeNodes || len(others) != threeNodes-1 {
		return errTooFew
	}
	lagging, emptied := others[0], others[1]
	if err := s.stopFor(lagging); err != nil {
		return err
	}
	pause(ctx, time.Second)
	if err := errors.Join(emptied.Kill(), leader.Kill()); err != nil {
		return err
	}
	if err := s.lose(emptied); err != nil {
		return err
	}
	if err := errors.Join(emptied.Start(), resume(lagging)); err != nil {
		return err
	}
	if err := s.noLeader(ctx, lagging, emptied); err != nil {
		return err
	}
	if err := errors.Join(leader.Start(), leader.WaitReady(ctx, 2*s.testbed.recovery())); err != nil {
		return err
	}
	return s.testbed.replaceLost(ctx)
}

// noLeader checks for several times the duration of an election that none of the nodes leads.
func (s *injection) noLeader(ctx context.Context, nodes ...*harness.Node) error {
	for range 20 {
		for _, n := range nodes {
			if status, err := n.Status(ctx); err == nil && status.Role == "leader" {
				return broke("I1", "%s leads with the vote of an empty disk", n.Name)
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
	s.testbed.observe(noElections, "", 1)
	return nil
}
