package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
)

// unequal is five stopped nodes whose logs all end at different indexes and in two terms.
type unequal struct {
	*nodes
	ends *endings
	// sent contains the indexes of acknowledged messages. All logs are prefixes of the longest one,
	// so a node has those up to the end of its log.
	sent    []uint64
	unknown int // messages that were not acknowledged and may be in a log
}

func unequalLogs(t *testing.T) *unequal {
	t.Helper()
	c, ends := startGrowing(t, 5, nil)
	u := &unequal{nodes: c, ends: ends}
	c.create(0, fifo)
	c.agree()
	send := func(messages int) {
		through := c.leader()
		for range messages {
			body := fmt.Sprint("acknowledged-", len(u.sent))
			reply := c.submit(through, &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entryFor(fifo, body)}})
			u.sent = append(u.sent, reply.Index)
		}
	}
	send(3)
	c.agree()
	first := c.agreedLeader()
	shortest := c.followersBut(first)
	c.crash(shortest)
	send(4)
	c.agree()      // the three nodes that remain need each other's votes, so their logs end alike
	c.crash(first) // its log ends in the first term, the others go on in the next
	send(4)
	c.agree()
	c.open(shortest) // now there is a majority again
	c.waitReady(shortest)
	send(2)
	c.agree()
	c.crash(c.followersBut(c.agreedLeader()))
	send(5)
	c.agree()
	last := c.agreedLeader()
	for range 2 { // without a majority nothing is acknowledged, but the logs grow
		c.crash(slices.IndexFunc(c.nodes, func(n *Node) bool { return n != nil && n != c.nodes[last] }))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := c.nodes[last].Submit(ctx,
			&queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entryFor(fifo, fmt.Sprint("unknown-", u.unknown))}})
		cancel()
		if err == nil {
			t.Fatal("acknowledged without a majority")
		}
		u.unknown++
	}
	c.crash(last)
	return u
}

// has counts the acknowledged messages in the log of a node.
func (u *unequal) has(end offline.LogEnd) (messages int) {
	for _, index := range u.sent {
		if index <= end.Index {
			messages++
		}
	}
	return messages
}

// keep recovers some of the nodes, starts them in the given order, and reports what is wrong.
func (u *unequal) keep(t *testing.T, kept []int) {
	t.Helper()
	var paths []string
	for _, i := range kept {
		paths = append(paths, u.configs[i].DataDir)
	}
	logs := logEnds(t, paths...)
	want := 0
	for _, end := range logs {
		want = max(want, u.has(end))
	}
	plans := recoverNodes(t, paths...)
	for _, i := range kept {
		u.open(i)
	}
	for _, i := range kept {
		u.waitReady(i)
	}
	u.send(kept[0], fifo, "after")
	u.waitFor("all that are left to be voters", func() bool {
		list, err := u.nodes.nodes[u.leader()].Members(clustertest.Context(t))
		voters := 0
		for _, m := range list.Members {
			if m.Role != membership.RoleLearner {
				voters++
			}
		}
		return err == nil && voters == len(kept) && len(list.Members) == len(kept)
	})
	u.agree()
	for n, i := range kept {
		if got := u.messages(t, i); got < want+1 || got > want+1+u.unknown {
			t.Errorf("node %d has %d messages, want %d and one: %v", i, got, want, logs)
		}
		status := u.nodes.nodes[i].Status()
		if status.ClusterID != plans[0].NewClusterID || plans[n].NewClusterID != plans[0].NewClusterID {
			t.Errorf("node %d is of cluster %s, others of %s", i, status.ClusterID, plans[0].NewClusterID)
		}
		if restored := u.nodes.nodes[i].group.Stats().SnapshotsRestored; restored > 2 {
			t.Errorf("node %d restored %d snapshots", i, restored)
		}
	}
}

// messages counts the messages that a linearizable read of a node finds.
func (c *nodes) messages(t *testing.T, i int) (messages int) {
	t.Helper()
	_, err := c.nodes[i].Read(clustertest.Context(t), func(v queue.View) error {
		stats, _ := v.Stats(fifo)
		messages = int(stats.Visible + stats.NotVisible)
		return nil
	})
	clustertest.Must(t, err)
	return messages
}

// Any set of nodes can be recovered and started in any order: the cluster has all acknowledged
// messages that the longest log of the set has, and all nodes agree. With SERIATIM_RECOVERIES=all
// the test takes all 325 sets and orders, otherwise a few.
func TestRecoveryOfAnyNodes(t *testing.T) {
	t.Parallel()
	u := unequalLogs(t)
	template := t.TempDir()
	copyAll := func(to, from func(i int) string) {
		for i := range u.configs {
			clustertest.Must(t, errors.Join(os.RemoveAll(to(i)), os.CopyFS(to(i), os.DirFS(from(i)))))
		}
	}
	stored := func(i int) string { return filepath.Join(template, fmt.Sprint(i)) }
	used := func(i int) string { return u.configs[i].DataDir }
	copyAll(stored, used)
	ends := make(map[string]bool)
	for i := range u.configs {
		end := logEnds(t, used(i))[0]
		ends[fmt.Sprint(end.Term, "/", end.Index)] = true
		t.Logf("%s has %d of %d messages", end, u.has(end), len(u.sent))
	}
	if len(ends) < 3 {
		t.Fatalf("the logs end at %v: nothing is tested", ends)
	}
	for _, kept := range recoveries() {
		copyAll(used, stored)
		u.keep(t, kept)
		for _, i := range kept {
			u.crash(i)
		}
		t.Logf("kept and started: %v", kept)
		if t.Failed() {
			return
		}
	}
}

// recoveries returns sets of nodes, each in the order in which they are started.
func recoveries() [][]int {
	var all [][]int
	var extend func(begun []int)
	extend = func(begun []int) {
		if len(begun) > 0 {
			all = append(all, slices.Clone(begun))
		}
		for i := range 5 {
			if !slices.Contains(begun, i) {
				extend(append(begun, i))
			}
		}
	}
	extend(nil)
	if os.Getenv("SERIATIM_RECOVERIES") == "all" {
		return all
	}
	random := rand.New(rand.NewPCG(35, 5)) // the same ones in each run
	sample := [][]int{{4, 3, 2, 1, 0}, {0, 1, 2}}
	for range 2 {
		sample = append(sample, all[random.IntN(len(all))])
	}
	return sample
}

// A node that does not become a voter waits to join and never begins a cluster of its own, whatever
// its settings. Its former data moves to another directory.
func TestRecoveryArchivesAShorterLog(t *testing.T) {
	t.Parallel()
	c, ids, _, _, _ := aCluster(t)
	paths := []string{c.configs[0].DataDir, c.configs[1].DataDir}
	logs := logEnds(t, paths...)
	logs[1].Index += 100 // as if that node had a longer log
	s := openStopped(t, paths[0])
	plan, err := s.PlanRecovery(logs)
	if err != nil || !plan.Joins || !slices.Equal(plan.Keep, ids[1:2]) || !slices.Equal(plan.Drop, ids[2:]) {
		t.Fatalf("%+v, %v", plan, err)
	}
	clustertest.Must(t, s.Recover(plan))
	mustClose(t, s)
	for _, name := range []string{"node.json", storage.GroupDirName(0)} {
		clustertest.Check(t, clustertest.Err(os.Stat(filepath.Join(plan.MovedTo, name))))
	}
	// As if the process had been killed in between: the next recovery finishes it.
	dir, err := storage.OpenStoppedDir(paths[0])
	clustertest.Must(t, err)
	record, err := storage.ReadRecovery(dir)
	if err != nil || !record.Done || !record.Joins {
		t.Fatalf("%+v, %v", record, err)
	}
	record.Done = false
	clustertest.Must(t, errors.Join(storage.WriteRecovery(dir, record), dir.Close()))
	if _, err := offline.Open(t.Context(), paths[0], nil, clustertest.Logger(t, 1)); err == nil ||
		!strings.Contains(err.Error(), "recovery is finished") {
		t.Fatalf("an interrupted recovery: %v", err)
	}
	c.configs[0].BootstrapExpect = 1
	c.open(0)
	if got := c.nodes[0].Status(); got.ClusterID != plan.NewClusterID || got.NodeID == ids[0] || c.nodes[0].process.bootstrap.HasState() {
		t.Errorf("%+v", got)
	}
}

// A node with another history that an earlier program accepted into the cluster ends and says why.
// Until then it answers no reads and is not called up to date.
func TestNodeOfAnotherHistoryEnds(t *testing.T) {
	t.Parallel()
	u := unequalLogs(t)
	logs := logEnds(t, u.configs[0].DataDir, u.configs[1].DataDir, u.configs[2].DataDir, u.configs[3].DataDir, u.configs[4].DataDir)
	order := []int{0, 1, 2, 3, 4}
	slices.SortFunc(order, func(a, b int) int { return u.has(logs[a]) - u.has(logs[b]) })
	short, long := order[:2], order[4]
	var keep []string
	for _, i := range []int{short[0], short[1], long} {
		keep = append(keep, logs[i].NodeID)
	}
	slices.Sort(keep)
	for _, i := range []int{short[0], short[1], long} {
		s := openStopped(t, u.configs[i].DataDir)
		plan, err := s.PlanRecovery(logs[i : i+1])
		clustertest.Must(t, err)
		plan.Keep, plan.NewClusterID = keep, "0123456789abcdef"
		clustertest.Must(t, s.Recover(plan))
		mustClose(t, s)
	}
	u.open(short[0])
	u.open(short[1])
	u.waitReady(short[0])
	u.send(short[0], fifo, "after")
	u.open(long)
	name := u.configs[long].NodeName
	u.waitFor("the node of another history to end", func() bool {
		for _, m := range u.nodes.nodes[u.leader()].group.Stats().Members {
			if m.NodeID == logs[long].NodeID && m.LagEntries >= 0 {
				t.Errorf("%+v", m)
			}
		}
		return u.ends.of(name) == fault.ExitOtherHistory
	})
	if sent := u.nodes.nodes[u.leader()].group.Stats().SnapshotBytesSent; sent > 1<<20 {
		t.Errorf("%d bytes of snapshots were sent", sent)
	}
}
