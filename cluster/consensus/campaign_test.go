package consensus

import (
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// The bootstrapping node and the detector of a lost leader may both call Campaign: the second call
// must not end the leadership that the first one won.
func TestCampaignOfALeaderIsLeftOut(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 1, nil)
	g.startAll()
	group := g.Leader().group
	term, _ := group.LeaderTerm()
	var campaigning sync.WaitGroup
	for range 8 {
		campaigning.Go(func() {
			clustertest.Check(t, group.Campaign())
		})
	}
	campaigning.Wait()
	if now, leads := group.LeaderTerm(); !leads || now != term {
		t.Errorf("it led in term %d, then in %d: %v", term, now, leads)
	}
}
