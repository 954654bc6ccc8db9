package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/discovery"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
)

// endings records the exit codes of nodes by their names.
type endings struct {
	mu    sync.Mutex
	codes map[string]fault.ExitCode
}

func (e *endings) fatalOf(name string) func(fault.ExitCode, error) {
	return func(code fault.ExitCode, _ error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.codes[name] = code
	}
}

func (e *endings) of(name string) fault.ExitCode {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.codes[name]
}

// startGrowing starts a cluster whose learners are promoted quickly.
func startGrowing(t *testing.T, n int, change func(*Config)) (*nodes, *endings) {
	t.Helper()
	ends := &endings{codes: map[string]fault.ExitCode{}}
	c := startNodes(t, n, func(cfg *Config) {
		cfg.Members.PromoteAfter = 100 * time.Millisecond
		cfg.Fatal = ends.fatalOf(cfg.NodeName)
		if change != nil {
			change(cfg)
		}
	})
	return c, ends
}

// grow starts one more node, which finds the others by gossip.
func (c *nodes) grow(ends *endings, change func(*Config)) int {
	c.t.Helper()
	i := len(c.configs)
	cfg := c.configs[0]
	cfg.NodeName = fmt.Sprintf("n%d", i+1)
	cfg.Fatal = ends.fatalOf(cfg.NodeName)
	cfg.DataDir = filepath.Join(filepath.Dir(cfg.DataDir), fmt.Sprint(i+1))
	cfg.GossipAddr = freeAddress(c.t)
	cfg.Join = []string{c.configs[0].GossipAddr}
	cfg.BootstrapExpect = 0
	if change != nil {
		change(&cfg)
	}
	c.configs = append(c.configs, cfg)
	c.nodes = append(c.nodes, nil)
	c.open(i)
	return i
}

// wipe empties the data directory of a stopped node.
func (c *nodes) wipe(i int) {
	c.t.Helper()
	clustertest.Must(c.t, os.RemoveAll(c.configs[i].DataDir))
}

// roles waits until the leader reports these roles, by name.
func (c *nodes) roles(want string) MemberList {
	c.t.Helper()
	var list MemberList
	c.waitFor("roles "+want, func() bool {
		var err error
		if list, err = c.nodes[c.leader()].Members(clustertest.Context(c.t)); err != nil {
			return false
		}
		var found []string
		for _, m := range list.Members {
			role := m.Role
			if role == membership.RoleLeader {
				role = membership.RoleVoter
			}
			found = append(found, m.Name+" "+role)
		}
		return strings.Join(found, ", ") == want
	})
	return list
}

func wantRefusal(t *testing.T, err error, kind RefusalKind, part string) {
	t.Helper()
	var refusal *MembershipRefusal
	if !errors.As(err, &refusal) || refusal.Kind != kind || !strings.Contains(refusal.Text+refusal.Hint, part) {
		t.Fatalf("got %v, want a refusal of kind %q with %q", err, kind, part)
	}
}

func TestWipedNodeComesBackAsLearnerAndIsReplacedByOneCommand(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	c.create(0, fifo)
	c.send(0, fifo, "before")
	old := c.nodes[2].process.nodeID
	c.crash(2)
	c.wipe(2)
	c.open(2)
	list := c.roles("n1 voter, n2 voter, n3 voter, n3 learner")
	fresh := c.nodes[2].process.nodeID
	if fresh == old {
		t.Fatalf("the wiped node still is %s", old)
	}
	c.waitReady(2)
	ctx := clustertest.Context(t)
	wantRefusal(t, c.nodes[0].RemoveMember(ctx, Change{Node: "n3"}), RefusedUnsafe, "replace n3")
	wantRefusal(t, c.nodes[0].PromoteMember(ctx, Change{Node: fresh}), RefusedPolicy, "replace n3")
	wantRefusal(t, c.nodes[0].ReplaceMember(ctx, Change{Node: "n3", IfIndex: list.Index + 1}), RefusedBusy, "changed since")
	// Any node takes the command, also the new one.
	clustertest.Must(t, c.nodes[2].ReplaceMember(ctx, Change{Node: "n3", IfIndex: list.Index}))
	list = c.roles("n1 voter, n2 voter, n3 voter")
	if list.Members[2].NodeID != fresh {
		t.Fatalf("the members are %+v", list.Members)
	}
	wantRefusal(t, c.nodes[0].ReplaceMember(ctx, Change{Node: "n3"}), RefusedUnknownNode, "is lost")
	// Its vote counts: with it and one other the cluster works.
	c.crash(c.followersBut(2))
	c.send(2, fifo, "after")
	got := c.receive(2, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(10)}, 0)
	if len(got) != 2 || got[0].Body.String() != "before" || got[1].Body.String() != "after" {
		t.Fatalf("received %v", got)
	}
}

// followersBut is a running node that is not i.
func (c *nodes) followersBut(i int) int {
	for _, j := range c.followers() {
		if j != i {
			return j
		}
	}
	return c.leader()
}

func TestGrowAndShrink(t *testing.T) {
	t.Parallel()
	c, ends := startGrowing(t, 1, func(cfg *Config) { cfg.Members.Voters = 3 })
	c.create(0, fifo)
	want := "n1 voter"
	ctx := clustertest.Context(t)
	wantRefusal(t, c.nodes[0].RemoveMember(ctx, Change{Node: "n1"}), RefusedUnsafe, "only voter")
	wantRefusal(t, c.nodes[0].RemoveMember(ctx, Change{Node: "n9"}), RefusedUnknownNode, "n9")
	for n := 2; n <= 3; n++ {
		c.grow(ends, nil)
		want += fmt.Sprintf(", n%d voter", n)
		c.roles(want)
		c.send(0, fifo, fmt.Sprint(n))
	}
	// Once there are as many voters as wanted, further nodes stay learners until an operator
	// promotes them.
	for n := 4; n <= 5; n++ {
		i := c.grow(ends, nil)
		c.waitReady(i)
		c.roles(want + fmt.Sprintf(", n%d learner", n))
		c.waitFor("the note", func() bool {
			list, err := c.nodes[i].Members(ctx)
			return err == nil && strings.Contains(list.Members[i].Note, "seriatim cluster promote")
		})
		clustertest.Must(t, c.nodes[i].PromoteMember(ctx, Change{Node: fmt.Sprintf("n%d", n)}))
		want += fmt.Sprintf(", n%d voter", n)
		c.roles(want)
	}
	// Remove the leader first: it has to hand leadership over.
	first := c.leader()
	name := c.configs[first].NodeName
	clustertest.Must(t, c.nodes[first].RemoveMember(ctx, Change{Node: name}))
	c.waitFor("the removed node to end", func() bool { return ends.of(name) == fault.ExitRemoved })
	c.close(first)
	second := c.followers()[0]
	name = c.configs[second].NodeName
	clustertest.Must(t, c.nodes[c.leader()].RemoveMember(ctx, Change{Node: name}))
	c.waitFor("the removed node to end", func() bool { return ends.of(name) == fault.ExitRemoved })
	c.close(second)
	leader := c.leader()
	list, err := c.nodes[leader].Members(ctx)
	if err != nil || len(list.Members) != 3 {
		t.Fatalf("members %+v, %v", list, err)
	}
	c.send(leader, fifo, "last")
	c.agree()
}

func TestRemovalKeepsTheQuorum(t *testing.T) {
	t.Parallel()
	c, ends := startGrowing(t, 3, nil)
	leader, followers := c.leader(), c.followers()
	ctx := clustertest.Context(t)
	c.crash(followers[0])
	lost, other := c.configs[followers[0]].NodeName, c.configs[followers[1]].NodeName
	c.waitFor("the silence to be noticed", func() bool {
		list, err := c.nodes[leader].Members(ctx)
		return err == nil && !list.Members[followers[0]].Healthy
	})
	wantRefusal(t, c.nodes[followers[1]].RemoveMember(ctx, Change{Node: other}), RefusedUnsafe, "only 1 of 2 voters answer")
	wantRefusal(t, c.nodes[leader].MoveLeadership(ctx, Change{Node: lost}), RefusedUnsafe, "does not answer")
	wantRefusal(t, c.nodes[leader].ReplaceMember(ctx, Change{Node: lost}), RefusedUnsafe, "no new node")
	wantRefusal(t, c.nodes[leader].ReplaceMember(ctx, Change{Node: "n9"}), RefusedUnknownNode, "n9")
	clustertest.Must(t, c.nodes[leader].RemoveMember(ctx, Change{Node: lost}))
	// The node that was removed while it was away learns of it after its restart.
	c.open(followers[0])
	c.waitFor("the removed node to end", func() bool { return ends.of(lost) == fault.ExitRemoved })
	c.close(followers[0])
	if ends.of(other) != 0 {
		t.Errorf("%s ended with %d", other, ends.of(other))
	}
}

func TestLeadershipMovesToTheWantedNode(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, unhurried)
	for _, i := range []int{0, 1, 2} {
		clustertest.Must(t, c.nodes[(i+1)%3].MoveLeadership(clustertest.Context(t), Change{Node: c.configs[i].NodeName}))
		c.waitFor("the wanted leader", func() bool { return c.nodes[i].leads() })
	}
	before := c.leader()
	clustertest.Must(t, c.nodes[0].MoveLeadership(clustertest.Context(t), Change{}))
	c.waitFor("another leader", func() bool { return c.leader() != before })
}

func TestDrainedNodeDoesNotLead(t *testing.T) {
	t.Parallel()
	c, _ := startGrowing(t, 3, nil)
	ctx := clustertest.Context(t)
	leader := c.leader()
	if err := c.nodes[leader].Drain(ctx); err != nil {
		t.Fatal(err)
	}
	c.waitFor("another leader", func() bool { return c.leader() != leader })
	if err := c.nodes[leader].Ready(); !errors.Is(err, membership.ErrDrained) {
		t.Fatalf("a drained node is ready: %v", err)
	}
	c.create(leader, fifo) // it still answers requests
	// It hands leadership over again when it gets it.
	if err := c.nodes[leader].MoveLeadership(ctx, Change{Node: c.configs[leader].NodeName}); err != nil {
		t.Fatal(err)
	}
	c.waitFor("another leader", func() bool { return c.leader() != leader && !c.nodes[leader].leads() })
	c.nodes[leader].Uncordon()
	c.waitReady(leader)
}

func TestManualJoin(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef")
	c, ends := startGrowing(t, 1, func(cfg *Config) { cfg.Members.ManualJoin, cfg.Trust.GossipKey = true, key })
	asks := c.grow(ends, func(cfg *Config) { cfg.Members.ManualJoin = false })
	waits := c.grow(ends, nil)
	ctx := clustertest.Context(t)
	c.waitFor("both to wait", func() bool {
		list, err := c.nodes[0].Members(ctx)
		return err == nil && len(list.Waiting) == 2 && len(list.Members) == 1
	})
	wantRefusal(t, c.nodes[0].AddMember(ctx, Change{Node: "n9"}), RefusedUnknownNode, "n9")
	for _, i := range []int{asks, waits} {
		clustertest.Must(t, c.nodes[0].AddMember(ctx, Change{Node: c.nodes[i].process.nodeID}))
		c.waitReady(i)
	}
	c.roles("n1 voter, n2 learner, n3 learner")
	c.waitFor("the record of the admission", func() bool {
		return c.nodes[asks].process.bootstrap.Record().Added && c.nodes[waits].process.bootstrap.Record().Added
	})
	// It is still a member after a restart.
	c.close(waits)
	c.open(waits)
	c.waitReady(waits)
}

// lateNetwork fails the first attempts to reach one address.
type lateNetwork struct {
	environment.Network
	late     string
	mu       sync.Mutex
	failures int
}

func (l *lateNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	l.mu.Lock()
	fails := address == l.late && l.failures > 0
	if fails {
		l.failures--
	}
	l.mu.Unlock()
	if fails {
		return nil, context.DeadlineExceeded
	}
	return l.Network.Dial(ctx, address)
}

func TestTwoClustersOnOneNetworkStayApart(t *testing.T) {
	t.Parallel()
	a, ends := startGrowing(t, 3, nil)
	cfg := a.configs[0]
	cfg.NodeName, cfg.DataDir, cfg.GossipAddr, cfg.BootstrapExpect = "m1", t.TempDir(), freeAddress(t), 1
	cfg.Join = nil
	b := &nodes{t: t, configs: []Config{cfg}, nodes: []*Node{nil}}
	b.open(0)
	defer b.close(0)
	b.waitReady(0)
	if !b.nodes[0].process.gossip.Join(a.configs[0].Join[0]) { // the filter may refuse
		t.Log("no node answered")
	}
	if one, other := a.nodes[0].process.clusterID(), b.nodes[0].process.clusterID(); one == other {
		t.Fatalf("both are cluster %s", one)
	}
	// A node that finds two clusters joins neither.
	lost := a.grow(ends, func(cfg *Config) {
		cfg.Join = []string{a.configs[0].GossipAddr, b.configs[0].GossipAddr}
		// The first attempts to reach the second cluster fail, as on a busy machine.
		cfg.Network = &lateNetwork{Network: environment.NewMachineNetwork("", cfg.WithDefaults().Timing.Dial),
			late: b.configs[0].GossipAddr, failures: discovery.LookTries - 1}
	})
	refuses := func() bool {
		return strings.Contains(a.nodes[lost].members.WaitsFor(), "several clusters are in sight")
	}
	a.waitFor("the node to see both", func() bool {
		if id := a.nodes[lost].process.clusterID(); id != "" {
			t.Fatalf("it joined %s", id)
		}
		return refuses()
	})
	// It still joins neither when one of them falls silent.
	b.crash(0)
	b.open(0)
	b.crash(0)
	a.waitFor("the silence", func() bool {
		live := 0
		for _, seen := range a.nodes[lost].process.gossip.View() {
			if seen.Alive && seen.HasState {
				live++
			}
		}
		return live == 3
	})
	if err := a.nodes[lost].members.StepToJoin(clustertest.Context(t), storage.Membership{}); err == nil || !refuses() {
		t.Fatalf("got %v", err)
	}
	b.open(0)
	for i := range 3 {
		if got := len(a.nodes[i].group.Stats().Members); got != 3 {
			t.Errorf("node %d has %d members", i, got)
		}
	}
	foreign := b.nodes[0].process.nodeID
	for i := range 3 {
		for _, seen := range a.nodes[i].process.gossip.View() {
			if seen.NodeID == foreign && seen.Alive {
				t.Errorf("node %d takes %s of the other cluster for one of its own", i, foreign)
			}
		}
	}
}
