package faults

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// unequalCuts are power cuts of a leader whose disk was slower or faster than those of
// the others.
const unequalCuts = "leaders with an unequal disk without power"

// What a sync takes on the slower and on the faster of the disks.
const (
	slowerSync = 30 * time.Millisecond
	fasterSync = slowerSync / 10
)

// unequalFaults need a tracer. Entries leave for the followers before the leader's disk
// has them: with the slower disk at the leader they are often on the disks of the others
// alone when the power goes, with the faster one on that of the leader alone.
func unequalFaults() []fault {
	return []fault{
		{name: "power cut, slower disk at the leader", area: areaDisk, least: 500 * time.Millisecond, most: 2 * time.Second,
			begin: cutUnequal(slowerSync, fasterSync)},
		{name: "power cut, faster disk at the leader", area: areaDisk, least: 500 * time.Millisecond, most: 2 * time.Second,
			begin: cutUnequal(fasterSync, slowerSync)},
	}
}

// cutUnequal makes syncs of the leader and of the others take different times, and takes
// the power from the leader, alone, with one of the others, or with all. What is cut
// comes back at the end, on disks of the same speed.
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
		for _, n := range s.cluster.Nodes {
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
			s.observe(slowSyncs, n.Name, 1)
		}
		pause(ctx, time.Second+time.Duration(s.random.Int64N(int64(time.Second))))
		if status, err := leader.Status(ctx); err == nil && status.Role == "leader" {
			s.observe(unequalCuts, leader.Name, 1)
		}
		return s.cut(victims[:1+s.random.IntN(len(victims))]...)
	}
}
