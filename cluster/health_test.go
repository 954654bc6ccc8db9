package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/health"
)

// members asks node i how the cluster is, until the leader answers.
func (c *nodes) members(i int) MemberList {
	c.t.Helper()
	list, err := c.nodes[i].Members(clustertest.Context(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}

// The first answer after a node died says so, and how many more may fail.
func TestStatusIsTrueAtOnce(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, unhurried)
	leader, followers := c.leader(), c.followers()
	c.waitFor("all to answer", func() bool {
		list := c.members(followers[0])
		return list.Healthy && len(list.Warnings) == 0
	})
	if list := c.members(followers[0]); list.MayFail != 1 || len(list.Warnings) != 0 ||
		!strings.HasPrefix(list.Summary, "Healthy: 3 of 3 voters answer, leader "+c.configs[leader].NodeName) || !strings.HasSuffix(list.Summary, "; 1 node may fail") {
		t.Errorf("three of three: %+v", list)
	}
	c.crash(followers[1])
	for _, i := range []int{leader, followers[0]} {
		list := c.members(i)
		want := "Degraded: 2 of 3 voters answer, leader " + c.configs[leader].NodeName + "; no further node may fail"
		if list.Summary != want || list.Healthy || list.MayFail != 0 {
			t.Errorf("node %d says %q, want %q: %+v", i, list.Summary, want, list)
		}
		lost := list.Members[followers[1]]
		if lost.Healthy || !strings.HasPrefix(lost.Note, "does not answer: ") {
			t.Errorf("the lost one is %+v", lost)
		}
	}
	c.crash(leader)
	local := c.nodes[followers[0]].LocalMembers(clustertest.Context(t))
	if local.Healthy || !strings.HasPrefix(local.Summary, "No leader: ") || !strings.Contains(local.Summary, "1 of 3 voters answer, 2 are needed") {
		t.Errorf("the last one says %+v", local)
	}
}

// A removed node is not one that waits, although it still runs; a node that waits
// is no longer listed when it is gone.
func TestOnlyNodesThatWaitAreListed(t *testing.T) {
	t.Parallel()
	c, ends := startGrowing(t, 3, func(cfg *Config) { cfg.Members.ManualJoin = true })
	ctx := clustertest.Context(t)
	i := c.grow(ends, nil)
	c.waitFor("the new node to be listed", func() bool {
		return slices.ContainsFunc(c.members(0).Waiting, func(w WaitingNode) bool { return w.Name == "n4" })
	})
	if err := c.nodes[0].AddMember(ctx, Change{Node: "n4"}); err != nil {
		t.Fatal(err)
	}
	c.waitReady(i)
	c.waitFor("the new node to know that it is a member", func() bool { return c.nodes[i].process.bootstrap.membership().Added })
	if list := c.roles("n1 voter, n2 voter, n3 voter, n4 learner"); len(list.Waiting) != 0 {
		t.Errorf("a member waits: %+v", list.Waiting)
	}
	if err := c.nodes[0].RemoveMember(ctx, Change{Node: "n4"}); err != nil {
		t.Fatal(err)
	}
	for len(c.members(0).Members) != 3 {
		t.Error("removed, and still a member")
	}
	if list := c.members(c.leader()); len(list.Waiting) != 0 {
		t.Errorf("the removed node is listed: %+v", list.Waiting)
	}
	c.waitFor("the removed node to end", func() bool { return ends.of("n4") == ExitRemoved })
	c.crash(i)

	j := c.grow(ends, nil)
	c.waitFor("the next one to be listed", func() bool { return len(c.members(0).Waiting) == 1 })
	c.crash(j)
	if list := c.members(0); len(list.Waiting) != 0 {
		t.Errorf("a node that is gone waits: %+v", list.Waiting)
	}
}

func TestDrainedMemberIsListed(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	follower := c.followers()[0]
	if err := c.nodes[follower].Drain(clustertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	for i := range c.nodes {
		for j, m := range c.members(i).Members {
			if m.Drained != (j == follower) {
				t.Errorf("node %d sees %+v", i, m)
			}
		}
		if c.nodes[i].Status().Drained != (i == follower) {
			t.Errorf("node %d: %+v", i, c.nodes[i].Status())
		}
	}
	c.nodes[follower].Uncordon()
	if c.members(0).Members[follower].Drained || c.nodes[follower].Status().Drained {
		t.Error("it still is drained")
	}
}

// There is nobody to hand leadership to, and that is known at once.
func TestLeadershipOfTheOnlyVoterIsNotHandedOver(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	wantRefusal(t, c.nodes[0].MoveLeadership(clustertest.Context(t), Change{}), RefusedUnsafe, "only voter")
	wantRefusal(t, c.nodes[0].MoveLeadership(clustertest.Context(t), Change{Node: "n1"}), RefusedUnsafe, "only voter")
	if list := c.members(0); !list.Healthy || list.MayFail != 0 || len(list.Warnings) != 1 || !strings.Contains(list.Warnings[0], "1 voter") {
		t.Errorf("%+v", list)
	}
}

func TestStatusBeforeThereIsACluster(t *testing.T) {
	t.Parallel()
	c := prepareNodes(t, 3, nil)
	c.open(0)
	const want = "waiting for 2 of 3 initial members: n1 is here"
	// An answer that had to wait for a leader would not come before the deadline
	// of the call, and would not say why.
	c.waitFor("the reason", func() bool {
		_, err := c.nodes[0].Members(clustertest.Context(t))
		return errors.Is(err, ErrUnavailable) && strings.Contains(err.Error(), want)
	})
	list := c.nodes[0].LocalMembers(clustertest.Context(t))
	if list.Healthy || !strings.HasPrefix(list.Summary, "No cluster yet: "+want) || !strings.Contains(list.Summary, c.configs[2].GossipAddr) {
		t.Errorf("%+v", list)
	}
	status := c.nodes[0].Status()
	if status.Role != "waiting" || len(status.Warnings) != 1 || !strings.Contains(status.Warnings[0], want) {
		t.Errorf("%+v", status)
	}
	if err := c.nodes[0].Ready(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ready: %v", err)
	}
}

func TestAssessment(t *testing.T) {
	// Each letter is a voter: the leader, one that answers, is behind, or is gone;
	// a lower-case one is a learner.
	cases := []struct {
		members, summary string
		healthy          bool
		mayFail          int
		warning          string
	}{
		{"L", "Healthy: 1 of 1 voters answer, leader n1, all caught up; no node may fail", true, 0, "1 voter"},
		{"LA", "Healthy: 2 of 2 voters answer, leader n1, all caught up; no node may fail", true, 0, "2 voters survive no failure"},
		{"LAA", "Healthy: 3 of 3 voters answer, leader n1, all caught up; 1 node may fail", true, 1, ""},
		{"LABg", "Healthy: 3 of 3 voters answer, leader n1, 1 catching up; 1 node may fail", true, 1, "n3 is 1025 log entries behind"},
		{"LAG", "Degraded: 2 of 3 voters answer, leader n1; no further node may fail", false, 0, ""},
		{"LAAA", "Healthy: 4 of 4 voters answer, leader n1, all caught up; 1 node may fail", true, 1, "no more failures than 3"},
		{"LAAG", "Degraded: 3 of 4 voters answer, leader n1; no further node may fail", false, 0, "no more failures than 3"},
		{"LAAAG", "Degraded: 4 of 5 voters answer, leader n1; 1 further node may fail", false, 1, ""},
		{"LAAAA", "Healthy: 5 of 5 voters answer, leader n1, all caught up; 2 nodes may fail", true, 2, ""},
		{"LGG", "No majority: 1 of 3 voters answer, 2 are needed, leader n1", false, 0, ""},
		{"AAG", "No leader: 2 of 3 voters answer, 2 are needed", false, 0, ""},
		{"", "No cluster yet: it waits", false, 0, ""},
	}
	for _, test := range cases {
		t.Run(test.members, func(t *testing.T) {
			list := MemberList{}
			for i, kind := range test.members {
				m := MemberStatus{NodeID: string(rune('1'+i)) + "-x", Name: "n" + string(rune('1'+i)), Role: roleVoter, Healthy: kind != 'G' && kind != 'g'}
				switch kind {
				case 'L':
					m.Role, list.LeaderID = roleLeader, m.NodeID
				case 'B':
					m.LagEntries = learnerLagMax + 1
				case 'g':
					m.Role = roleLearner
				}
				list.Members = append(list.Members, m)
			}
			list.assess("it waits")
			if f := list.Findings[len(list.Findings)-1]; f.Check != health.Quorum || f.Value < 0 != (!strings.Contains(test.summary, "; ")) || f.Value >= 0 && f.Value != float64(test.mayFail) {
				t.Errorf("the finding about the quorum is %+v", f)
			}
			if list.Summary != test.summary || list.Healthy != test.healthy || list.MayFail != test.mayFail {
				t.Errorf("got %q, %v, %d", list.Summary, list.Healthy, list.MayFail)
			}
			if text := strings.Join(list.Warnings, "\n"); (text == "") != (test.warning == "") || !strings.Contains(text, test.warning) {
				t.Errorf("warnings %q", text)
			}
		})
	}
}

// What is critical is named before the members, and then the cluster is not healthy.
func TestWhatIsCriticalIsNotHealthy(t *testing.T) {
	voter := func(id string, role string, healthy bool) MemberStatus {
		return MemberStatus{NodeID: id, Name: id, Role: role, Healthy: healthy}
	}
	for _, test := range []struct {
		found   []health.Finding
		n3      bool
		summary string
		healthy bool
	}{
		{nil, true, "Healthy: 3 of 3", true},
		{[]health.Finding{health.Found(health.Disk, "", 15, "its disk is low")}, true, "Healthy: 3 of 3", true},
		{[]health.Finding{health.Found(health.Sends, "", 2, "sends are refused")}, true, "Sends are refused: 3 of 3 voters answer, leader n1", false},
		{[]health.Finding{health.Found(health.Replicas, "", 2, "they differ"), health.Found(health.Dedup, "q", 100, "it is full")}, true, "Critical (replicas, dedup): 3 of 3", false},
		{[]health.Finding{health.Found(health.Members, "", 2, "is not ready")}, true, "Critical (members): 3 of 3", false},
		{[]health.Finding{health.Found(health.Members, "", 2, "does not answer")}, false, "Degraded: 2 of 3", false},
		{[]health.Finding{health.Found(health.Sends, "", 2, "sends are refused")}, false, "Sends are refused: 2 of 3 voters answer, leader n1; no further node may fail", false},
	} {
		list := MemberList{LeaderID: "n1", Members: []MemberStatus{voter("n1", roleLeader, true), voter("n2", roleVoter, true), voter("n3", roleVoter, test.n3)}}
		list.found("n1", test.found...)
		list.assess("")
		if !strings.HasPrefix(list.Summary, test.summary) || list.Healthy != test.healthy {
			t.Errorf("%+v: %q, healthy %v", test.found, list.Summary, list.Healthy)
		}
		for _, f := range test.found {
			if f.Level != health.OK && !slices.Contains(list.Warnings, "n1: "+f.Text) {
				t.Errorf("%q is not among %q", f.Text, list.Warnings)
			}
		}
	}
}

// A node is drained through any other, which asks it.
func TestDrainThroughAnotherNode(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	ctx := clustertest.Context(t)
	from, to := c.followers()[0], c.followers()[1]
	for _, drained := range []bool{true, false} {
		id, err := c.nodes[from].DrainMember(ctx, c.configs[to].NodeName, drained)
		if err != nil || id != c.nodes[to].process.nodeID || c.nodes[to].Drained() != drained || c.nodes[from].Drained() {
			t.Errorf("drained %v: %s, %v", drained, id, err)
		}
	}
	_, err := c.nodes[from].DrainMember(ctx, "n9", true)
	wantRefusal(t, err, RefusedUnknownNode, "n9")
}
