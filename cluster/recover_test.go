package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/offline"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

func openStopped(t *testing.T, path string) *offline.Stopped {
	t.Helper()
	s, err := offline.Open(t.Context(), path, nil, slog.New(slog.DiscardHandler))
	clustertest.Must(t, err)
	return s
}

func mustClose(t *testing.T, s *offline.Stopped) {
	t.Helper()
	clustertest.Check(t, s.Close())
}

// recoverNode recovers a stopped node as the only one that is left.
func recoverNode(t *testing.T, path string) offline.RecoveryPlan {
	t.Helper()
	return recoverNodes(t, path)[0]
}

// logEnds returns where the logs of stopped nodes end.
func logEnds(t *testing.T, paths ...string) (logs []offline.LogEnd) {
	t.Helper()
	for _, path := range paths {
		s := openStopped(t, path)
		end, err := s.LogEnd()
		clustertest.Must(t, err)
		mustClose(t, s)
		logs = append(logs, end)
	}
	return logs
}

// recoverNodes recovers all given nodes together.
func recoverNodes(t *testing.T, paths ...string) (plans []offline.RecoveryPlan) {
	t.Helper()
	logs := logEnds(t, paths...)
	for _, path := range paths {
		s := openStopped(t, path)
		plan, err := s.PlanRecovery(logs)
		clustertest.Must(t, err)
		clustertest.Must(t, s.Recover(plan))
		mustClose(t, s)
		plans = append(plans, plan)
	}
	return plans
}

func (c *nodes) ids() (ids []string) {
	for _, n := range c.nodes {
		ids = append(ids, n.Status().NodeID)
	}
	return ids
}

// aCluster returns a stopped cluster of three nodes with a few messages.
func aCluster(t *testing.T) (c *nodes, ids []string, sent queue.SentEntry, held string, status Status) {
	t.Helper()
	c, _ = startGrowing(t, 3, func(cfg *Config) { cfg.PeerAddr = freeAddress(t) }) // so that the old and the new cluster do not gossip
	c.create(0, fifo)
	sent = c.send(0, fifo, "a")
	held = c.receive(0, queue.ReceiveMessages{Queue: fifo, VisibilityTimeout: queue.Some(1)}, 0)[0].Handle.String()
	for i := range 20 {
		c.send(i%3, fifo, fmt.Sprint("b", i))
	}
	c.agree()
	ids, status = c.ids(), c.nodes[0].Status()
	leader := c.agreedLeader()
	for i := range c.nodes { // the leader last, so that no log ends in a later term than another
		c.close((leader + 1 + i) % 3)
	}
	return c, ids, sent, held, status
}

func TestRecoveryOfOneOfThree(t *testing.T) {
	t.Parallel()
	c, ids, sent, held, before := aCluster(t)
	plan := recoverNode(t, c.configs[1].DataDir)
	if plan.NodeID != ids[1] || plan.ClusterID != before.ClusterID || plan.LastIndex < before.AppliedIndex || len(plan.Drop) != 2 {
		t.Errorf("plan %+v", plan)
	}
	c.open(1)
	c.waitReady(1)
	after := c.nodes[1].Status()
	if after.ClusterID != plan.NewClusterID || after.ClusterID == before.ClusterID || len(after.Peers) != 0 {
		t.Errorf("status %+v", after)
	}
	if again := c.send(1, fifo, "a"); again.MessageID != sent.MessageID || again.Sequence != sent.Sequence {
		t.Errorf("a duplicate got %+v, the original %+v", again, sent)
	}
	_, err := c.nodes[1].Submit(clustertest.Context(t), &queue.DeleteMessages{Queue: fifo, Handles: []string{held}})
	if refused := new(queue.Error); !errors.As(err, &refused) || refused.Code != refusal.ReceiptHandleIsInvalid {
		t.Errorf("a handle from before the recovery: %v", err)
	}
	if next := c.send(1, fifo, "next"); next.Sequence <= 21 {
		t.Errorf("sequence number %d may have been used by the lost nodes", next.Sequence)
	}
	c.waitFor("all messages to be there", func() bool {
		stats := queue.QueueStats{}
		c.nodes[1].ReadLocal(func(v queue.View) { stats, _ = v.Stats(fifo) })
		return stats.Visible+stats.NotVisible == 22
	})
	// The two lost nodes start again. They are a majority of the old cluster, but they learn that
	// it has ended, and stop.
	ends := &endings{codes: map[string]fault.ExitCode{}}
	for _, i := range []int{0, 2} {
		c.configs[i].Fatal = ends.fatalOf(c.configs[i].NodeName)
		c.open(i)
	}
	c.waitFor("the lost nodes to end", func() bool {
		return ends.of("n1") == fault.ExitOtherHistory && ends.of("n3") == fault.ExitOtherHistory
	})
	if got := c.nodes[1].Status(); got.ClusterID != plan.NewClusterID || got.LeaderID != ids[1] || len(got.Peers) != 0 {
		t.Errorf("the recovered node among lost ones: %+v", got)
	}
	c.close(0)
	c.close(2)
	c.close(1)
	c.open(1)
	c.waitReady(1)
}

// A recovered node accepts new members until the cluster has its former size.
func TestRecoveredClusterGrows(t *testing.T) {
	t.Parallel()
	c, _, sent, _, _ := aCluster(t)
	recoverNode(t, c.configs[0].DataDir)
	c.wipe(1)
	c.wipe(2)
	for i := range c.configs {
		c.configs[i].Members.PromoteAfter = 100 * time.Millisecond
		c.open(i)
	}
	c.roles("n1 voter, n2 voter, n3 voter")
	for i := range c.nodes {
		c.waitReady(i)
	}
	if again := c.send(2, fifo, "a"); again.MessageID != sent.MessageID || again.Sequence != sent.Sequence {
		t.Errorf("a duplicate got %+v, the original %+v", again, sent)
	}
	c.agree()
	c.crash(c.leader())
	c.send(c.leader(), fifo, "next")
}

// interruptRecovery leaves a directory like a recovery that is killed before it writes down the new
// cluster.
func interruptRecovery(t *testing.T, path string) {
	t.Helper()
	dir, err := storage.OpenStoppedDir(path)
	clustertest.Must(t, err)
	record, err := storage.ReadRecovery(dir)
	clustertest.Must(t, err)
	record.Done = false
	if err := errors.Join(storage.WriteRecovery(dir, record), dir.SetMembership(storage.Membership{ClusterID: record.Previous}),
		dir.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestRecoveryRefusals(t *testing.T) {
	t.Parallel()
	c, ids, _, _, _ := aCluster(t)
	path := c.configs[0].DataDir
	own := logEnds(t, path)[0]
	s := openStopped(t, path)
	other, stale, recovered := own, own, own
	other.NodeID, stale.Index, recovered.NodeID, recovered.ClusterID = ids[1], own.Index-1, ids[2], "0123456789abcdef"
	outsider := other
	outsider.NodeID = "n9-00000000"
	for name, logs := range map[string][]offline.LogEnd{
		"without any":                      nil,
		"without this node":                {other},
		"with a outsider":                  {own, outsider},
		"with a node twice":                {own, other, other},
		"of another end":                   {stale, other},
		"with a node that was recovered":   {own, recovered},
		"with an end that is given before": {own, stale},
	} {
		if plan, err := s.PlanRecovery(logs); !errors.Is(err, offline.ErrBadRecovery) {
			t.Errorf("%s: %+v, %v", name, plan, err)
		}
	}
	for _, text := range []string{"", ids[0], ids[0] + "=" + own.ClusterID, ids[0] + "=" + own.ClusterID + ":0/7", ids[0] + "=:3/7",
		own.String() + "x"} {
		if end, err := offline.ParseLogEnd(text); !errors.Is(err, offline.ErrBadRecovery) {
			t.Errorf("%q is %+v, %v", text, end, err)
		}
	}
	if end, err := offline.ParseLogEnd(own.String()); err != nil || end != own {
		t.Errorf("%+v, %v, want %+v", end, err, own)
	}
	// As if the process had been killed in between.
	plan, err := s.PlanRecovery([]offline.LogEnd{own})
	clustertest.Must(t, err)
	clustertest.Must(t, s.Recover(plan))
	mustClose(t, s)
	interruptRecovery(t, path)
	if n, err := Open(clustertest.Context(t), c.configs[0]); err == nil {
		c.nodes[0] = n
		t.Fatal("started in the middle of a recovery")
	}
	s = openStopped(t, path)
	if _, err := s.PlanRecovery([]offline.LogEnd{own, other}); !errors.Is(err, offline.ErrBadRecovery) {
		t.Errorf("another recovery instead: %v", err)
	}
	before, err := s.State(0)
	clustertest.Must(t, err)
	mustClose(t, s)
	if again := recoverNode(t, path); again.NewClusterID != plan.NewClusterID || !again.Repeats {
		t.Errorf("repeated as %+v, begun as %+v", again, plan)
	}
	s = openStopped(t, path)
	after, err := s.State(0)
	if err != nil || after.StateHash != before.StateHash {
		t.Errorf("the epoch began twice: %+v and %+v, %v", before, after, err)
	}
	mustClose(t, s)
	c.open(0)
	c.waitReady(0)
}

func TestStoppedShowsLogAndState(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	c.create(0, fifo)
	for i := range 10 {
		c.send(0, fifo, fmt.Sprint(i))
	}
	const endpoint = "arn:aws:sqs:us-east-1:000000000000:elsewhere"
	c.createTopic(0, "topic")
	c.createTopic(0, "unheard")
	c.submit(0, &queue.Subscribe{Topic: "topic", Endpoint: endpoint})
	path := c.configs[0].DataDir
	if _, err := offline.Open(t.Context(), path, nil, slog.New(slog.DiscardHandler)); !errors.Is(err, offline.ErrDataDirInUse) {
		t.Errorf("beside the running node: %v", err)
	}
	clustertest.Must(t, c.nodes[0].group.Snapshot(clustertest.Context(t)))
	at := c.nodes[0].Status()
	c.send(0, fifo, "after")
	end := c.nodes[0].Status()
	c.close(0)

	s := openStopped(t, path)
	defer mustClose(t, s)
	for _, want := range []Status{at, end} {
		got, err := s.State(want.AppliedIndex)
		if err != nil || got.StateHash != want.StateHash || got.LogTimeMs != want.LogTimeMs {
			t.Errorf("at %d: %+v, %v; the node said %+v", want.AppliedIndex, got, err, want)
		}
	}
	if got, err := s.State(0); err != nil || got.StateHash != end.StateHash || got.Replayed == 0 || got.SnapshotIndex < at.AppliedIndex {
		t.Errorf("at the end: %+v, %v", got, err)
	}
	if _, err := s.State(end.AppliedIndex + 1000); err == nil {
		t.Error("a state beyond the end of the log")
	}

	snapshots, err := s.Snapshots()
	if err != nil || len(snapshots) != 1 || cmp.Diff([]string{end.NodeID}, snapshots[0].Members) != "" {
		t.Fatalf("snapshots %+v, %v", snapshots, err)
	}
	inspected, err := s.InspectSnapshot(snapshots[0].ID)
	if err != nil || inspected.StateHash != at.StateHash || inspected.Messages != 10 || inspected.DeduplicationIDs != 10 ||
		inspected.ClusterID != end.ClusterID || len(inspected.Queues) != 1 || inspected.Queues[0].Visible != 10 {
		t.Errorf("inspected %+v, %v", inspected, err)
	}
	topics := []offline.TopicContents{{Name: "topic", Subscriptions: []string{endpoint}}, {Name: "unheard", Subscriptions: []string{}}}
	if diff := cmp.Diff(topics, inspected.Topics); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	state, err := os.ReadFile(filepath.Join(path, storage.GroupDirName(0), storage.SnapshotsDir, snapshots[0].ID,
		storage.SnapshotStateName))
	clustertest.Must(t, err)
	if got, err := offline.InspectSnapshot(bytes.NewReader(state)); err != nil || cmp.Diff(inspected, got) != "" {
		t.Errorf("as a file: %+v, %v", got, err)
	}
	if _, err := offline.InspectSnapshot(bytes.NewReader(state[:20])); !errors.Is(err, ErrBadBackup) {
		t.Errorf("cut off: %v", err)
	}

	types, next := map[string]int{}, uint64(1)
	err = s.Entries(0, math.MaxUint64, func(e offline.LoggedEntry) error {
		if e.Index != next || e.Damage != "" {
			t.Errorf("entry %+v where %d belongs", e, next)
		}
		next++
		types[e.Type]++
		for _, command := range e.Commands {
			types[command.Name]++
		}
		return nil
	})
	if err != nil || types["configuration"] != 1 || types["SendMessages"] != 11 || types["CreateQueue"] != 1 {
		t.Errorf("log: %v, %v", types, err)
	}
}

func TestStoppedShowsDamage(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, func(cfg *Config) { cfg.Log.Store = storage.LogStoreBoltDB })
	c.create(0, fifo)
	path := c.configs[0].DataDir
	index := c.submit(0, &queue.SendMessages{Queue: fifo, Entries: []queue.SendEntry{entryFor(fifo, "findthisbody")}}).Index
	c.close(0)
	file := filepath.Join(path, storage.GroupDirName(0), storage.BoltName)
	content, err := os.ReadFile(file)
	clustertest.Must(t, err)
	at := bytes.Index(content, []byte("findthisbody"))
	if at < 0 {
		t.Fatal("the body is not in the log as it is")
	}
	clustertest.FlipBit(t, file, int64(at))
	s := openStopped(t, path)
	defer mustClose(t, s)
	damaged := []uint64{}
	if err := s.Entries(1, math.MaxUint64, func(e offline.LoggedEntry) error {
		if e.Damage != "" {
			damaged = append(damaged, e.Index)
		}
		return nil
	}); err != nil || cmp.Diff([]uint64{index}, damaged) != "" {
		t.Errorf("damaged: %v, %v; want %d", damaged, err, index)
	}
	if _, err := s.State(0); err == nil {
		t.Error("a state out of a damaged log")
	}
	if _, err := s.LogEnd(); err == nil {
		t.Error("a recovery with a damaged log")
	}
}

func TestOpenStoppedRefusesWhatIsNoNode(t *testing.T) {
	if _, err := offline.Open(t.Context(), t.TempDir(), nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an empty directory")
	}
	path := t.TempDir()
	openTestDir(t, path, "a").Close()
	if _, err := offline.Open(t.Context(), path, nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a node that never had a log")
	}
}

// The plan reports that entries are missing at the end of a log that was cut short, since another
// node may have them.
func TestRecoveryOfACutLog(t *testing.T) {
	t.Parallel()
	c, _, _, _, _ := aCluster(t)
	path := c.configs[0].DataDir
	whole := logEnds(t, path)[0]
	files, err := filepath.Glob(filepath.Join(path, storage.GroupDirName(0), storage.WALName, "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	clustertest.Must(t, err)
	end := len(bytes.TrimRight(content, "\x00"))
	clear(content[end/2 : end])
	clustertest.Must(t, os.WriteFile(files[0], content, 0o600))
	left := logEnds(t, path)
	s := openStopped(t, path)
	defer mustClose(t, s)
	cut, err := s.PlanRecovery(left)
	if err != nil || cut.LastIndex >= whole.Index || cut.EndedAt != whole.Index {
		t.Errorf("%+v, of %+v, %v", cut, whole, err)
	}
}
