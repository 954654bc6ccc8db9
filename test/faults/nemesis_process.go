package faults

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// processFaults need no privileges.
func processFaults() []fault {
	return []fault{
		{name: "kill leader", area: areaProcess, least: time.Second, most: 3 * time.Second, single: true, begin: killLeader},
		{name: "pause leader", area: areaProcess, least: 2 * time.Second, most: 5 * time.Second, single: true, begin: pauseLeader},
		{name: "kill one", area: areaProcess, least: 0, most: 20 * time.Second, single: true, begin: killOne},
		{name: "kill majority", area: areaProcess, least: 0, most: 5 * time.Second, begin: killMajority},
		{name: "kill all", area: areaProcess, least: 500 * time.Millisecond, most: time.Second, begin: killAll},
		{name: "stop leader", area: areaProcess, least: time.Second, most: 2 * time.Second, begin: stopLeader},
		{name: "pause one", area: areaProcess, least: 500 * time.Millisecond, most: 20 * time.Second, single: true, begin: pauseOne},
		{name: "pause majority", area: areaProcess, least: 500 * time.Millisecond, most: 5 * time.Second, begin: pauseMajority},
		{name: "hop", area: areaProcess, least: 2 * time.Second, most: 4 * time.Second, begin: hop},
		{name: "pause leader, kill follower", area: areaProcess, least: 2 * time.Second, most: 5 * time.Second,
			begin: pauseLeaderKillFollower},
		{name: "rolling restart", area: areaProcess, least: 0, most: 0, begin: rollingRestart},
	}
}

func killLeader(s *injection, ctx context.Context) error {
	leader, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	return leader.Kill()
}

func stopLeader(s *injection, ctx context.Context) error {
	leader, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	s.touch(history.TouchTransfer, leader)
	return leader.Stop(stopLimit)
}

// stopLimit bounds a clean stop with its handover.
const stopLimit = 20 * time.Second

func killOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	return n.Kill()
}

func killMajority(s *injection, ctx context.Context) error {
	return s.toMajority(ctx, (*harness.Node).Kill)
}

// toMajority injects a fault into as many nodes as form a majority.
func (s *injection) toMajority(ctx context.Context, do func(*harness.Node) error) error {
	for range len(s.testbed.cluster.Nodes)/2 + 1 {
		n, err := s.target(ctx)
		if err != nil {
			return err
		}
		if err := do(n); err != nil {
			return err
		}
		// The next leader is chosen at once, while the former one still counts as the leader.
	}
	return nil
}

func killAll(s *injection, _ context.Context) error {
	if err := s.takeAll(); err != nil {
		return err
	}
	for _, n := range s.nodes {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	return nil
}

// stopFor pauses a claimed node until the injection ends.
func (s *injection) stopFor(n *harness.Node) error {
	s.touch(history.TouchPause, n)
	if err := n.Pause(); err != nil {
		return err
	}
	s.undo(func() error { return resume(n) })
	return nil
}

// resume continues a node that may have been killed meanwhile.
func resume(n *harness.Node) error {
	if !n.Running() {
		return nil
	}
	return n.Resume()
}

func pauseLeader(s *injection, ctx context.Context) error {
	leader, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	return s.stopFor(leader)
}

func pauseOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	return s.stopFor(n)
}

func pauseMajority(s *injection, ctx context.Context) error {
	return s.toMajority(ctx, s.stopFor)
}

// hop pauses the leader until there is a new one, and then pauses the new one and continues the old
// one, which still believes that it leads.
func hop(s *injection, ctx context.Context) error {
	old, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	if err := s.stopFor(old); err != nil {
		return err
	}
	next, err := s.testbed.cluster.Part(s.testbed.cluster.Followers(old)...).WaitLeader(ctx, s.testbed.recovery())
	if err != nil {
		return err
	}
	if !s.take(next) {
		return errBusy
	}
	if err := s.stopFor(next); err != nil {
		return err
	}
	return resume(old)
}

// pauseLeaderKillFollower leaves one node of three, and then the old leader with
// a follower that restarts.
func pauseLeaderKillFollower(s *injection, ctx context.Context) error {
	leader, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	for _, n := range s.testbed.cluster.Followers(leader) {
		if !s.take(n) {
			continue
		}
		if err := s.stopFor(leader); err != nil {
			return err
		}
		return n.Kill()
	}
	return errBusy
}

func rollingRestart(s *injection, ctx context.Context) error {
	if err := s.takeAll(); err != nil {
		return err
	}
	s.touch(history.TouchTransfer, s.nodes...)
	for _, n := range s.nodes {
		if err := n.Stop(stopLimit); err != nil {
			return err
		}
		if err := n.Start(); err != nil {
			return err
		}
		if err := n.WaitReady(ctx, 2*s.testbed.recovery()); err != nil {
			return err
		}
	}
	return nil
}
