package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// smallSteps makes snapshots and installs the normal way to catch up. The wal shows
// deleted entries as long as the file is its last, and sends them instead of a
// snapshot: its files are small.
func smallSteps(_ int, cfg *Config) {
	cfg.Log.SegmentBytes = 4 << 10
	cfg.Snapshot = SnapshotPolicy{LogBytes: 2000, TrailingBytes: 500, SyncBytes: 1000}
}

func TestSnapshotsAreTakenByBytesAndInstalled(t *testing.T) {
	defer clustertest.VerifyNoLeaks(t)
	clustertest.BothStores(t, func(t *testing.T, store string) {
		g := newGroups(t, 3, func(i int, cfg *Config) { smallSteps(i, cfg); cfg.Log.Store = store })
		g.startAll()
		g.agree(g.propose(0, 60))
		behind := g.followers(g.leader())[0]
		stopped := behind.group.raft.LastIndex()
		g.snapshotAll()
		behind.stop()
		last := g.propose(60, 160)
		g.snapshotAll()
		leader := g.leader()
		if stats := leader.group.Stats(); stats.SnapshotsTaken == 0 || stats.LastSnapshotIndex == 0 || stats.SnapshotPause <= 0 {
			t.Fatalf("no snapshot was taken: %+v", stats)
		}
		first, err := leader.group.log.FirstIndex()
		if err != nil || first <= stopped {
			t.Fatalf("the log begins at %d, %v: it was not shortened", first, err)
		}
		behind.start()
		g.agree(last)
		g.agree(g.propose(160, 170))                       // the log is wiped after the state is there
		restored := behind.group.Stats().SnapshotsRestored // one is its own
		if first, err := behind.group.log.FirstIndex(); err != nil || first <= stopped || restored < 2 {
			t.Errorf("the follower stopped at %d and its log begins at %d, %v: it got no snapshot", stopped, first, err)
		}
		g.stopAll()
		g.startAll()
		g.agree(g.propose(170, 180))
		g.stopAll()
	})
}

// snapshotAll takes a snapshot on every running member.
func (g *groups) snapshotAll() {
	g.t.Helper()
	for _, m := range g.members {
		if m.group == nil {
			continue
		}
		if err := m.group.Snapshot(clustertest.Context(g.t)); err != nil {
			g.t.Fatal(err)
		}
	}
}

// TestInstalledSnapshotWipesTheLog guards against raft issue 697: a follower
// that keeps an entry contradicting the snapshot it got refuses the next append
// and gets the snapshot again, for ever.
func TestInstalledSnapshotWipesTheLog(t *testing.T) {
	ends := map[string]int{"before the snapshot's end": -5, "at the snapshot's end": 0, "behind the snapshot's end": 20}
	for name, beyond := range ends {
		t.Run(name, func(t *testing.T) {
			clustertest.BothStores(t, func(t *testing.T, store string) { installOverContradiction(t, store, beyond) })
		})
	}
}

func installOverContradiction(t *testing.T, store string, beyond int) {
	g := newGroups(t, 3, func(i int, cfg *Config) { smallSteps(i, cfg); cfg.Log.Store = store })
	g.startAll()
	g.agree(g.propose(0, 20))
	behind := g.followers(g.leader())[0]
	g.snapshotAll()
	behind.stop()
	if err := g.leader().group.TransferLeadership(clustertest.Context(t)); err != nil { // another term
		t.Fatal(err)
	}
	written := entriesOf(t, g.leader())
	last := g.propose(20, 120)
	g.snapshotAll()
	contradict(t, behind, written, uint64(int(last)+beyond))
	behind.start()
	g.agree(last)
	if stats := behind.group.Stats(); stats.SnapshotsRestored < 2 { // one is its own
		t.Errorf("no snapshot was installed: %+v", stats)
	}
	g.agree(g.propose(120, 125))
	g.stopAll()
	g.startAll()
	g.agree(g.propose(125, 130))
}

// entriesOf is the log of a member by index.
func entriesOf(t *testing.T, m *member) map[uint64]*raft.Log {
	t.Helper()
	first, err := m.group.log.FirstIndex()
	if err != nil {
		t.Fatal(err)
	}
	last, err := m.group.log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[uint64]*raft.Log{}
	for index := max(first, 1); index <= last; index++ {
		entries[index] = new(raft.Log)
		if err := m.group.log.GetLog(index, entries[index]); err != nil {
			t.Fatal(err)
		}
	}
	return entries
}

// contradict adds entries to a stopped node's log that no leader committed, up
// to where the others are, as a node writes that led without a majority. What a
// leader wrote in the last term of the node comes first: two entries of one index
// and term never differ.
func contradict(t *testing.T, m *member, written map[uint64]*raft.Log, last uint64) {
	t.Helper()
	cfg := m.cfg.WithDefaults()
	dir := openTestDir(t, cfg.DataDir, cfg.NodeName)
	guard := storage.NewDiskGuard(cfg.Timing.DiskDeadline, clustertest.NewFatalRecord().Fatal, nil)
	options := cfg.logOptions()
	options.Opened, options.Logger = time.Now(), storage.NewLibraryLogger(clustertest.Context(t), cfg.Logger)
	log, err := storage.OpenLogStore(openTestGroup(t, dir), guard, options)
	if err != nil {
		t.Fatal(err)
	}
	end, err := log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	var entry raft.Log
	if err := log.GetLog(end, &entry); err != nil {
		t.Fatal(err)
	}
	for index := end + 1; index <= last; index++ {
		added := &raft.Log{Index: index, Term: entry.Term, Type: raft.LogNoop}
		if sent := written[index]; sent != nil && sent.Term == entry.Term {
			added = sent
		}
		if err := log.StoreLog(added); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(log.Close(), dir.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestWaitAppliedPassesEntriesWithoutCommands(t *testing.T) {
	g := newGroups(t, 3, nil)
	g.startAll()
	g.propose(0, 2)
	leader := g.leader() // its barrier is the last entry and reaches no state machine
	commit := leader.group.CommitIndex()
	if applied := leader.machine.AppliedIndex(); applied >= commit {
		t.Fatalf("applied %d, committed %d: the test needs a barrier at the end", applied, commit)
	}
	for _, m := range g.members {
		if err := m.group.WaitApplied(clustertest.Context(t), commit); err != nil {
			t.Errorf("%s: %v", m.cfg.NodeName, err)
		}
		if stats := m.group.Stats(); stats.AppliedIndex < commit {
			t.Errorf("%s: applied %d of %d", m.cfg.NodeName, stats.AppliedIndex, commit)
		}
	}
}

func TestTransferLeadership(t *testing.T) {
	g := newGroups(t, 3, nil)
	g.startAll()
	leader := g.leader()
	if err := leader.group.TransferLeadership(clustertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	last := g.propose(0, 3)
	if now := g.leader(); now == leader {
		t.Error("the same node leads")
	}
	g.agree(last)
}

func TestStatsDescribeTheMembers(t *testing.T) {
	g := newGroups(t, 3, nil)
	g.startAll()
	g.agree(g.propose(0, 5))
	leader := g.leader()
	ctx := clustertest.Context(t)
	for {
		stats := leader.group.Stats()
		if len(stats.Members) != 3 || stats.Role != "leader" {
			t.Fatalf("got %+v", stats)
		}
		if !slices.ContainsFunc(stats.Members, func(m Member) bool { return m.LastContact < 0 || m.LagEntries != 0 }) {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the followers were never heard of: %+v", stats.Members)
		}
		if err := leader.group.await(ctx, leader.group.raft.VerifyLeader()); err != nil { // a heartbeat
			t.Fatal(err)
		}
	}
	for _, m := range g.followers(leader) {
		if stats := m.group.Stats(); stats.Role != "follower" || stats.LeaderID != leader.process.nodeID {
			t.Errorf("got %+v", stats)
		}
	}
	for _, m := range leader.process.gossip.View() {
		if m.Peer == "" || !m.Alive {
			t.Errorf("gossip knows %+v", m)
		}
	}
}

func TestDamagedNodeRefusesToStartAndTheOthersGoOn(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string) (file string)
		code   fault.ExitCode
	}{
		{"a log entry", func(t *testing.T, dir string) string {
			clustertest.FlipBitIn(t, dir, "q0033")
			return filepath.Join(storage.GroupDirName(0), storage.WALName)
		}, fault.ExitChecksum},
		{"a snapshot", func(t *testing.T, dir string) string {
			states, err := filepath.Glob(filepath.Join(dir, storage.GroupDirName(0), storage.SnapshotsDir, "*", storage.SnapshotStateName))
			if err != nil || len(states) == 0 {
				t.Fatal(states, err)
			}
			newest := slices.MaxFunc(states, func(a, b string) int { return strings.Compare(modified(t, a), modified(t, b)) })
			clustertest.FlipBit(t, newest, 300)
			return newest
		}, fault.ExitChecksum},
		{"all snapshots removed", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.GroupDirName(0), storage.SnapshotsDir))
			return filepath.Join(storage.GroupDirName(0), storage.WALName)
		}, fault.ExitLostData},
		{"term and vote", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.GroupDirName(0), storage.StableName))
			return storage.StableName
		}, fault.ExitLostData},
		{"the stores", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.GroupDirName(0)))
			return storage.StableName
		}, fault.ExitLostData},
		{"the cluster", func(t *testing.T, dir string) string {
			clustertest.RemoveFile(t, filepath.Join(dir, storage.MembershipName))
			return storage.MembershipName
		}, fault.ExitLostData},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := newGroups(t, 3, func(_ int, cfg *Config) { cfg.Snapshot.TrailingBytes = 2000 })
			g.startAll()
			for at := range 30 {
				g.proposeOne(testNamedEntry(t, at))
			}
			damaged := g.followers(g.leader())[0]
			if err := damaged.group.Snapshot(clustertest.Context(t)); err != nil {
				t.Fatal(err)
			}
			for at := 30; at < 35; at++ {
				g.proposeOne(testNamedEntry(t, at))
			}
			if test.name == "a log entry" { // it must still be in the log
				g.agree(g.leader().group.CommitIndex())
			}
			damaged.stop()
			file := test.damage(t, damaged.cfg.DataDir)
			err := damaged.tryStart()
			codes, _ := damaged.record.All()
			if err == nil || !slices.Contains(codes, test.code) || len(codes) != 1 {
				t.Fatalf("got %v, exit codes %v, want %d", err, codes, test.code)
			}
			if !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "new member") {
				t.Errorf("the message does not name %s and say what to do: %v", file, err)
			}
			g.agree(g.propose(50, 55))
		})
	}
}

func modified(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime().Format("2006-01-02T15:04:05.000000000")
}

// The nodes of a cluster do not write their snapshots at the same entry.
func TestSnapshotsAreSpread(t *testing.T) {
	c := startNodes(t, 3, func(cfg *Config) { cfg.Snapshot.LogBytes = 1 << 20 })
	due := map[int64]bool{}
	for _, n := range c.nodes {
		d := n.group.snapshotDue()
		if d < 1<<20 || d > 1<<20+1<<18 {
			t.Errorf("a snapshot is due after %d bytes", d)
		}
		due[d] = true
	}
	if len(due) != 3 {
		t.Errorf("they are due after %v", due)
	}
}
