package cluster

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A recovery keeps all bodies, in segments of the snapshot and in the log after it. The recovered
// node has them after each restart and sends them to a node that joins.
func TestRecoveryKeepsBodiesInSegments(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(c *nodes, i int){"stopped in order": (*nodes).close, "killed": (*nodes).crash} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startNodes(t, 3, segmentsEverywhere)
			c.create(0, fifo)
			c.sendBodies(0, 0, 100)
			c.agree()
			c.snapshotAll()
			c.takeBodies(0, 0, 10) // the snapshot refers to more than the state has
			c.sendBodies(0, 100, 140)
			c.agree()
			before, snapshot := c.nodes[1].process.bodies.Stats(), c.nodes[1].group.Stats().LastSnapshotIndex
			leader := c.agreedLeader()
			for i := range c.nodes {
				restart(c, (leader+1+i)%3)
			}
			plan := recoverNode(t, c.configs[1].DataDir)
			if before.Bodies != 130 || plan.SnapshotIndex != snapshot || plan.LastIndex < snapshot+4 {
				t.Fatalf("%+v, %+v: nothing is tested", before, plan)
			}
			s := openStopped(t, c.configs[1].DataDir)
			if err := s.VerifyBodies(); err != nil {
				t.Errorf("after the recovery: %v", err)
			}
			mustClose(t, s)
			c.open(1)
			c.waitReady(1)
			c.takeBodies(1, 10, 30)
			c.sendBodies(1, 140, 150)
			restart(c, 1) // it has moved the bodies of the recovered snapshot into segments
			c.open(1)
			c.waitReady(1)
			c.takeBodies(1, 30, 50)
			c.wipe(2)
			c.configs[2].Members.PromoteAfter = 100 * time.Millisecond
			c.open(2)
			c.roles("n2 voter, n3 voter")
			c.waitReady(2)
			c.agree()
			if joined := c.nodes[2].process.bodies.Stats(); joined.Bodies != 100 {
				t.Errorf("the node that joined has %+v", joined)
			}
			c.leadsAfterRestart(2)
			c.takeBodies(2, 50, 110)
			c.agree()
			clustertest.Must(t, c.nodes[1].group.Snapshot(clustertest.Context(t)))
			c.leadsAfterRestart(1)
			c.takeBodies(1, 110, 150)
		})
	}
}

// A recovery that misses a segment reports this and changes neither snapshot nor log: the segment
// may be found, or another node may be recovered.
func TestRecoveryWithoutASegment(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, segmentsEverywhere)
	c.create(0, fifo)
	c.sendBodies(0, 0, 100)
	c.snapshotAll()
	c.sendBodies(0, 100, 140)
	files := c.segmentFiles(0)
	c.crash(0)
	path := c.configs[0].DataDir
	move := func(files []string, from, to string) {
		for _, file := range files {
			clustertest.Must(t, os.Rename(file+from, file+to))
		}
	}
	for _, lost := range [][]string{files[:1], files[4:]} {
		move(lost, "", ".away")
		end := logEnds(t, path)
		s := openStopped(t, path)
		plan, err := s.PlanRecovery(end)
		if err == nil {
			err = s.Recover(plan)
		}
		if err == nil || !strings.Contains(err.Error(), "missing") {
			t.Fatalf("recovered without %s: %v", lost, err)
		}
		if err := s.Recover(plan); err == nil {
			t.Fatalf("recovered at the second try without %s", lost)
		}
		mustClose(t, s)
		move(lost, ".away", "")
	}
	recoverNode(t, path)
	c.open(0)
	c.waitReady(0)
	c.takeBodies(0, 0, 140)
}
