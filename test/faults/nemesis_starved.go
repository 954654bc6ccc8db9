package faults

import (
	"context"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// A starved process is stopped and continued in turn. Others do not notice it at once like a long
// pause, because it answers everything, but late.
const (
	starvedTurn = 100 * time.Millisecond
	starvedWork = 20 * time.Millisecond // of each turn
)

// starvedTurns names the observed number of stops of a process.
const starvedTurns = "turns of a starved process"

// starvationFaults need no privileges.
func starvationFaults() []fault {
	return []fault{
		{name: "leader starved of CPU", area: areaProcess, least: 3 * time.Second, most: 15 * time.Second, single: true,
			begin: starveLeader},
		{name: "one starved of CPU", area: areaProcess, least: 3 * time.Second, most: 15 * time.Second, single: true, begin: starveOne},
		{name: "all starved of CPU", area: areaProcess, least: 2 * time.Second, most: 8 * time.Second, begin: starveAll},
	}
}

func starveLeader(s *injection, ctx context.Context) error {
	leader, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	s.starve(leader)
	return nil
}

func starveOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	s.starve(n)
	return nil
}

func starveAll(s *injection, _ context.Context) error {
	if err := s.takeAll(); err != nil {
		return err
	}
	s.starve(s.nodes...)
	return nil
}

// starve stops nodes for four fifths of the time until the injection ends.
func (s *injection) starve(nodes ...*harness.Node) {
	s.touch(history.TouchPause, nodes...)
	starved, fed := context.WithCancel(context.Background())
	var turning sync.WaitGroup
	turns := make([]int64, len(nodes))
	for i, n := range nodes {
		turning.Go(func() {
			// If the signal fails, the process has ended.
			for pause(starved, starvedWork) {
				if n.Pause() == nil {
					turns[i]++
				}
				pause(starved, starvedTurn-starvedWork)
				_ = resume(n)
			}
		})
	}
	s.undo(func() error {
		fed()
		turning.Wait()
		for i, n := range nodes {
			s.testbed.observe(starvedTurns, n.Name, turns[i])
		}
		return nil
	})
}
