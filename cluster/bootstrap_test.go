package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

func clusterIDs(g *groups) []string {
	var ids []string
	for _, m := range g.All {
		if m.group != nil {
			ids = append(ids, m.process.clusterID())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestBootstrapInEveryStartOrder(t *testing.T) {
	t.Parallel()
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			g := newGroups(t, 3, nil)
			for n, i := range order {
				g.All[i].start()
				if n == 1 {
					// Two of three found nothing, however long they wait.
					g.waitForView(g.All[i], 1)
				}
			}
			g.Agree(g.Propose(0, 3))
			if ids := clusterIDs(g); len(ids) != 1 || ids[0] == "" {
				t.Errorf("clusters %q", ids)
			}
			g.stopAll()
		})
	}
}

// waitForView waits until m sees n others.
func (g *groups) waitForView(m *member, n int) {
	g.T.Helper()
	ctx := clustertest.Context(g.T)
	for {
		changed := m.process.gossip.Changes()
		if len(m.process.gossip.View()) >= n {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			g.T.Fatalf("%s sees %d others, not %d", m.cfg.NodeName, len(m.process.gossip.View()), n)
		}
	}
}

func TestBootstrapOfOne(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 1, nil)
	g.startAll()
	g.Agree(g.Propose(0, 3))
	g.stopAll()
	g.startAll()
	g.Agree(g.Propose(3, 5))
}

func TestBootstrapLeavesOutTheLateNode(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 4, func(_ int, cfg *Config) { cfg.BootstrapExpect = 3 })
	late := g.All[0] // the smallest id, so it would begin the cluster
	for _, m := range g.All[1:] {
		m.start()
	}
	g.Agree(g.Propose(0, 3), g.All[1:]...)
	late.start()
	g.waitForView(late, 3)
	// It waits to be added once it sees nodes with state, whatever else it
	// hears, and before that for those that have pledged to belong elsewhere.
	for missing := ""; !strings.Contains(missing, "added"); {
		changed, progress := late.process.gossip.Changes(), false
		if missing, progress = late.process.bootstrap.step(clustertest.Context(t)); progress || late.process.clusterID() != "" {
			t.Fatalf("the late node: %q, cluster %q", missing, late.process.clusterID())
		}
		if !strings.Contains(missing, "added") {
			select {
			case <-changed:
			case <-clustertest.Context(t).Done():
				t.Fatalf("the late node: %q", missing)
			}
		}
	}
}

func TestBootstrapSurvivesACrashAfterThePledges(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	// The nodes draw their ids, then all give their pledge, and stop before the first
	// entry is written.
	var members []string
	for _, m := range g.All {
		dir := openTestDir(t, m.cfg.DataDir, m.cfg.NodeName)
		members = append(members, dir.NodeID)
	}
	slices.Sort(members)
	for _, m := range g.All {
		dir := openTestDirAgain(t, m)
		if err := dir.SetMembership(storage.Membership{ClusterID: storage.ClusterIDOf(members), InitialMembers: members}); err != nil {
			t.Fatal(err)
		}
		dir.Close()
	}
	g.startAll()
	g.Agree(g.Propose(0, 3))
	if ids := clusterIDs(g); !slices.Equal(ids, []string{storage.ClusterIDOf(members)}) {
		t.Errorf("clusters %q", ids)
	}
}

// openTestDirAgain opens a directory that storage.OpenTestDir locked.
func openTestDirAgain(t *testing.T, m *member) *storage.Dir {
	t.Helper()
	if err := os.Rename(m.cfg.DataDir, m.cfg.DataDir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(m.cfg.DataDir, os.DirFS(m.cfg.DataDir+".moved")); err != nil {
		t.Fatal(err)
	}
	return openTestDir(t, m.cfg.DataDir, m.cfg.NodeName)
}

// lonelyBootstrap is the bootstrap of a node without network.
func lonelyBootstrap(t *testing.T, view []discovery.Member) *bootstrap {
	t.Helper()
	dir := openTestDir(t, t.TempDir(), "b")
	dir.NodeID = "b-2"
	b := &bootstrap{
		dir:      dir,
		expect:   3,
		view:     func() []discovery.Member { return view },
		announce: func() {},
		hasState: func() bool { return false },
		guard:    storage.NewDiskGuard(time.Minute, clustertest.NewFatalRecord().Fatal, nil),
		logger:   clustertest.Logger(t, 0),
		turn:     make(chan struct{}, 1),
		changed:  wakeup.NewSignal(),
	}
	b.pledge.Store(&storage.Membership{})
	return b
}

func TestBootstrapChooses(t *testing.T) {
	node := func(id string, change ...func(*discovery.Member)) discovery.Member {
		m := discovery.Member{NodeID: id, Expect: 3, Alive: true}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	gone := func(m *discovery.Member) { m.Alive = false }
	state := func(m *discovery.Member) { m.HasState = true }
	five := func(m *discovery.Member) { m.Expect = 5 }
	pledged := func(id string) func(*discovery.Member) { return func(m *discovery.Member) { m.ClusterID = id } }
	tests := []struct {
		name string
		view []discovery.Member
		want []string
		why  string
	}{
		{"alone", nil, nil, "2 of 3 initial members: b is here"},
		{"two", []discovery.Member{node("a-1")}, nil, "1 of 3 initial members: a, b are here"},
		{"three", []discovery.Member{node("a-1"), node("c-3")}, []string{"a-1", "b-2", "c-3"}, ""},
		{"one is gone", []discovery.Member{node("a-1"), node("c-3", gone)}, nil, "1 of 3 initial members: a, b are here"},
		{"one has state", []discovery.Member{node("a-1"), node("c-3"), node("d-4", state)}, nil, "must be added"},
		{"one expects more", []discovery.Member{node("a-1"), node("c-3", five)}, nil, "c-3 expects 5"},
		{"four, this one is among the first", []discovery.Member{node("a-1"), node("c-3"), node("d-4")}, []string{"a-1", "b-2", "c-3"}, ""},
		{"four, this one is the last", []discovery.Member{node("a-1"), node("a-2"), node("a-3")}, nil, "other nodes are the initial members"},
		{"one has pledged to others", []discovery.Member{node("a-1"), node("c-3", pledged("feed"))}, nil, "has pledged"},
		{"one has pledged the same", []discovery.Member{node("a-1"), node("c-3", pledged(storage.ClusterIDOf([]string{"a-1", "b-2", "c-3"})))}, []string{"a-1", "b-2", "c-3"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, why := lonelyBootstrap(t, test.view).choose()
			if !slices.Equal(got, test.want) || !strings.Contains(why, test.why) {
				t.Fatalf("got %v, %q", got, why)
			}
		})
	}
}

func TestBootstrapPledgesOnce(t *testing.T) {
	first, other := []string{"a-1", "b-2", "c-3"}, []string{"b-0", "b-2", "c-3"}
	b := lonelyBootstrap(t, nil)
	ask := func(members []string) string {
		return b.givePledge(bootstrapRequest{Op: opPledge, From: members[0], InitialMembers: members})
	}
	if objection := b.givePledge(bootstrapRequest{Op: opPledge, From: "c-3", InitialMembers: first}); objection == "" {
		t.Error("pledged to a node that is not the first member")
	}
	if objection := ask(first); objection != "" {
		t.Fatal(objection)
	}
	if objection := ask(first); objection != "" {
		t.Errorf("asked again: %s", objection)
	}
	if objection := ask(other); !strings.Contains(objection, "has pledged") {
		t.Errorf("pledged twice: %q", objection)
	}
	if record, err := b.dir.Membership(); err != nil || record.ClusterID != storage.ClusterIDOf(first) {
		t.Errorf("on disk: %+v, %v", record, err)
	}
	asked := b.asked.Load()
	if objection := ask([]string{"a-1", "b-2", "d-4"}); objection != "" {
		t.Errorf("the first member cannot choose others: %s", objection)
	}
	if err := b.withdraw(asked); err == nil {
		t.Error("a pledge was withdrawn for a reason older than it")
	}
	if err := b.withdraw(b.asked.Load()); err != nil {
		t.Error(err)
	}
	if objection := ask(other); objection != "" {
		t.Errorf("a free node gives no pledge: %s", objection)
	}
	b.hasState = func() bool { return true }
	if objection := ask(first); !strings.Contains(objection, "belongs to a cluster") {
		t.Errorf("a node with state gave a pledge: %q", objection)
	}
	if err := b.withdraw(b.asked.Load()); err == nil {
		t.Error("a node with state left its cluster")
	}
}

func TestBootstrapGivesUpAndIsFreed(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	// One node has given its pledge to a member that never asked it, as if that
	// one had withdrawn while this node was away.
	pledged := g.All[2]
	dir := openTestDir(t, pledged.cfg.DataDir, pledged.cfg.NodeName)
	g.All[0].start()
	stale := []string{g.All[0].process.nodeID, "x-00000000", dir.NodeID}
	if err := dir.SetMembership(storage.Membership{ClusterID: storage.ClusterIDOf(stale), InitialMembers: stale}); err != nil {
		t.Fatal(err)
	}
	dir.Close()
	g.All[1].start()
	pledged.start()
	g.Agree(g.Propose(0, 3))
	if ids := clusterIDs(g); len(ids) != 1 || ids[0] == storage.ClusterIDOf(stale) {
		t.Errorf("clusters %q", ids)
	}
}

// What nodes of other versions read must not change its names.
func TestBootstrapOnTheWire(t *testing.T) {
	members := []string{"a-1", "b-2"}
	for _, c := range []struct {
		value any
		want  string
	}{
		{bootstrapRequest{Op: opPledge, From: "a-1", InitialMembers: members}, `{"op":"promise","from":"a-1","founders":["a-1","b-2"]}`},
		{bootstrapRequest{Op: opConfirm, From: "a-1", InitialMembers: members}, `{"op":"stands","from":"a-1","founders":["a-1","b-2"]}`},
		{storage.Membership{ClusterID: "c", InitialMembers: members, Joined: true, Added: true}, `{"clusterId":"c","initialMembers":["a-1","b-2"],"joined":true,"added":true}`},
	} {
		if got, err := json.Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%T is %s, %v, want %s", c.value, got, err, c.want)
		}
	}
}
