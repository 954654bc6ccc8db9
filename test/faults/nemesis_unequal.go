package faults

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// unequalCuts are power cuts of a leader whose disk was slower or faster than the other disks.
const unequalCuts = "leaders with an unequal disk without power"

// Duration of a sync on the slower and the faster disks.
const (
	slowerSync = 30 * time.Millisecond
	fasterSync = slowerSync / 10
)

// unequalFaults need a tracer. The leader sends entries before they are on its own disk. If its
// disk is slower, a power cut often finds entries only on the followers' disks; if it is faster,
// only on its own.
func unequalFaults() []fault {
	return []fault{
		{name: "power cut, slower disk at the leader", area: areaDisk, least: 500 * time.Millisecond, most: 2 * time.Second,
			begin: cutUnequal(slowerSync, fasterSync)},
		{name: "power cut, faster disk at the leader", area: areaDisk, least: 500 * time.Millisecond, most: 2 * time.Second,
			begin: cutUnequal(fasterSync, slowerSync)},
	}
}

// cutUnequal makes syncs of the leader slower or faster than those of the others, and then cuts the
// power of the leader: alone, with one follower, or with all. At the end the nodes are restarted
// with disks of equal speed.
func cutUnequal(leaders, others time.Duration) func(*injection, context.Context) error {
	return func(s *injection, ctx context.Context) error {
		leader, err := s.leader(ctx)
		if err != nil {
			return err
		}
		if err := s.takeAll(); err != nil {
			return err
		}
		victims := []*harness.Node{leader}
		for _, n := range s.testbed.cluster.Nodes {
			delay := leaders
			if n != leader {
				delay = others
				victims = append(victims, n)
			}
			s.touch(history.TouchSlow, n)
			trouble, err := disk.Inject(n.Pid(), disk.Injection{Calls: disk.Syncs, Delay: delay})
			if err != nil {
				return err
			}
			s.undo(trouble.Stop)
			s.testbed.observe(slowSyncs, n.Name, 1)
		}
		pause(ctx, time.Second+time.Duration(s.random.Int64N(int64(time.Second))))
		if status, err := leader.Status(ctx); err == nil && status.Role == "leader" {
			s.testbed.observe(unequalCuts, leader.Name, 1)
		}
		return s.cut(victims[:1+s.random.IntN(len(victims))]...)
	}
}
