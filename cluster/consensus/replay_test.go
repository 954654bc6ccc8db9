package consensus

import (
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// TestReplayBeforeConsensus checks that a restarted node without contact has applied the entries
// that it knew to be committed, no more, and knows the members of that time.
func TestReplayBeforeConsensus(t *testing.T) {
	t.Parallel()
	for name, snapshot := range map[string]bool{"without a snapshot": false, "after a snapshot": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clustertest.BothStores(t, func(t *testing.T, store string) {
				t.Parallel()
				g := newGroups(t, 3, func(i int, options *Options) { smallSteps(i, options); options.Log.Store = store })
				g.startAll()
				g.Agree(g.Propose(0, 20))
				if snapshot {
					g.snapshotAll()
				}
				known := g.Propose(20, 60)
				g.Agree(known)
				last := g.ProposeOne(clustertest.Entry(t, 60)) // its append records the commit of those before
				g.Agree(last)
				members := g.Leader().group.raft.GetConfiguration().Configuration()
				g.stopAll()

				alone := g.All[0]
				g.start(alone)
				if applied := alone.machine.AppliedIndex(); applied < known || applied > last {
					t.Errorf("entry %d is applied, known to be committed was %d, the last is %d", applied, known, last)
				}
				if got := alone.group.raft.GetConfiguration().Configuration(); !slices.Equal(got.Servers, members.Servers) {
					t.Errorf("the members are %v, they were %v", got, members)
				}
				for _, m := range g.All[1:] {
					g.start(m)
				}
				g.Agree(g.Propose(61, 65))
				g.snapshotAll()
				g.stopAll()
				g.startAll()
				g.Agree(g.Propose(65, 70))
			})
		})
	}
}
