package consensus

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// smallSteps makes snapshots and installs the normal way to catch up. Its wal files are small: the
// wal still returns deleted entries of its last file, which would be sent instead of a snapshot.
func smallSteps(_ int, options *Options) {
	options.Log.SegmentBytes = 4 << 10
	options.Snapshot = SnapshotPolicy{LogBytes: 2000, TrailingBytes: 500, SyncBytes: 1000, BytesPerSecond: 64 << 20}
}

func TestSnapshotsAreTakenByBytesAndInstalled(t *testing.T) {
	t.Parallel()
	clustertest.VerifyNoLeaks(t)
	clustertest.BothStores(t, func(t *testing.T, store string) {
		t.Parallel()
		g := newGroups(t, 3, func(i int, options *Options) { smallSteps(i, options); options.Log.Store = store })
		g.startAll()
		g.Agree(g.Propose(0, 60))
		behind := g.Followers(g.Leader())[0]
		stopped := behind.group.raft.LastIndex()
		g.snapshotAll()
		behind.node.stop()
		last := g.Propose(60, 160)
		g.snapshotAll()
		leader := g.Leader()
		if stats := leader.group.Stats(); stats.SnapshotsTaken == 0 || stats.LastSnapshotIndex == 0 || stats.SnapshotPause <= 0 {
			t.Fatalf("no snapshot was taken: %+v", stats)
		}
		first, err := leader.group.stores.log.FirstIndex()
		if err != nil || first <= stopped {
			t.Fatalf("the log begins at %d, %v: it was not shortened", first, err)
		}
		g.start(behind)
		g.Agree(last)
		g.Agree(g.Propose(160, 170))                       // the log is wiped after the state is restored
		restored := behind.group.Stats().SnapshotsRestored // the first is its own
		if first, err := behind.group.stores.log.FirstIndex(); err != nil || first <= stopped || restored < 2 {
			t.Errorf("the follower stopped at %d and its log begins at %d, %v: it got no snapshot", stopped, first, err)
		}
		g.stopAll()
		g.startAll()
		g.Agree(g.Propose(170, 180))
		g.stopAll()
	})
}

// snapshotAll takes a snapshot on every running member.
func (g *groups) snapshotAll() {
	g.T.Helper()
	for _, m := range g.All {
		if m.group == nil {
			continue
		}
		if err := m.group.Snapshot(clustertest.Context(g.T)); err != nil {
			g.T.Fatal(err)
		}
	}
}

// TestInstalledSnapshotWipesTheLog covers raft issue 697: a follower that keeps an entry
// contradicting an installed snapshot refuses the next append and gets the snapshot again.
func TestInstalledSnapshotWipesTheLog(t *testing.T) {
	t.Parallel()
	ends := map[string]int{"before the snapshot's end": -5, "at the snapshot's end": 0, "behind the snapshot's end": 20}
	for name, beyond := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clustertest.BothStores(t, func(t *testing.T, store string) {
				t.Parallel()
				installOverContradiction(t, store, beyond)
			})
		})
	}
}

func installOverContradiction(t *testing.T, store string, beyond int) {
	g, behind, last := contradictedSnapshot(t, store, beyond)
	g.start(behind)
	g.Agree(last)
	if stats := behind.group.Stats(); stats.SnapshotsRestored < 2 { // the first is its own
		t.Errorf("no snapshot was installed: %+v", stats)
	}
	g.Agree(g.Propose(120, 125))
	g.stopAll()
	g.startAll()
	g.Agree(g.Propose(125, 130))
}

// contradictedSnapshot returns a group with a stopped follower. The others have a snapshot up to
// last; its log ends beyond that and contradicts it.
func contradictedSnapshot(t *testing.T, store string, beyond int) (g *groups, behind *member, last uint64) {
	t.Helper()
	g = newGroups(t, 3, func(i int, options *Options) { smallSteps(i, options); options.Log.Store = store })
	g.startAll()
	g.Agree(g.Propose(0, 20))
	behind = g.Followers(g.Leader())[0]
	g.snapshotAll()
	term, end := behind.group.LastEntry()
	behind.node.stop()
	if err := g.Leader().group.TransferLeadership(clustertest.Context(t)); err != nil { // a new term
		t.Fatal(err)
	}
	written := entriesOf(t, g.Leader())
	last = g.Propose(20, 120)
	g.snapshotAll()
	contradict(t, behind, &raft.Log{Term: term, Index: end}, written, uint64(int(last)+beyond))
	return g, behind, last
}

// After a power cut between an installed snapshot and the wipe of the log, the node completes the
// wipe.
func TestInstallIsFinishedAfterAPowerCut(t *testing.T) {
	t.Parallel()
	ends := map[string]int{"before the snapshot's end": -5, "behind the snapshot's end": 20}
	for name, beyond := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clustertest.BothStores(t, func(t *testing.T, store string) {
				t.Parallel()
				finishInstall(t, store, beyond)
			})
		})
	}
}

func finishInstall(t *testing.T, store string, beyond int) {
	g, behind, last := contradictedSnapshot(t, store, beyond)
	snapshots := func(m *member) string { return filepath.Join(m.node.path, "group-0", storage.SnapshotsDir) }
	clustertest.Must(t, errors.Join(os.RemoveAll(snapshots(behind)), os.CopyFS(snapshots(behind), os.DirFS(snapshots(g.Leader())))))
	g.start(behind)
	if first, err := behind.group.stores.log.FirstIndex(); err != nil || first > 0 && first <= last {
		t.Errorf("the log begins at %d, %v, the snapshot ends at %d", first, err, last)
	}
	g.Agree(last)
	g.Agree(g.Propose(120, 125))
	g.stopAll()
	g.startAll()
	g.Agree(g.Propose(125, 130))
}

// entriesOf returns the log of a member by index.
func entriesOf(t *testing.T, m *member) map[uint64]*raft.Log {
	t.Helper()
	first, err := m.group.stores.log.FirstIndex()
	clustertest.Must(t, err)
	last, err := m.group.stores.log.LastIndex()
	clustertest.Must(t, err)
	entries := map[uint64]*raft.Log{}
	for index := max(first, 1); index <= last; index++ {
		entries[index] = new(raft.Log)
		clustertest.Must(t, m.group.stores.log.GetLog(index, entries[index]))
	}
	return entries
}

// contradict adds uncommitted entries to a stopped node's log, up to the end of the others' logs,
// as if it had led without a majority. The leader's entries of the node's last term come first: two
// entries of one index and term never differ. If a snapshot emptied the log, it continues after
// newest.
func contradict(t *testing.T, m *member, newest *raft.Log, written map[uint64]*raft.Log, last uint64) {
	t.Helper()
	dir := openTestDir(t, m.node.path, m.node.name)
	guard := storage.NewDiskGuard(time.Minute, clustertest.NewFatalRecord().Fatal, nil)
	options := m.options.Log
	options.Opened, options.Logger = time.Now(), storage.NewLibraryLogger(clustertest.Context(t), m.options.Logger)
	log, err := storage.OpenLogStore(openTestGroup(t, dir), guard, options)
	clustertest.Must(t, err)
	end, err := log.LastIndex()
	clustertest.Must(t, err)
	if end > 0 {
		clustertest.Must(t, log.GetLog(end, newest))
	}
	for index := newest.Index + 1; index <= last; index++ {
		added := &raft.Log{Index: index, Term: newest.Term, Type: raft.LogNoop}
		if sent := written[index]; sent != nil && sent.Term == newest.Term {
			added = sent
		}
		clustertest.Must(t, log.StoreLog(added))
	}
	clustertest.Must(t, errors.Join(log.Close(), dir.Close()))
}

func TestWaitAppliedPassesEntriesWithoutCommands(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	g.startAll()
	g.Propose(0, 2)
	leader := g.Leader() // its barrier is the last entry and does not reach the state machine
	commit := leader.group.CommitIndex()
	if applied := leader.machine.AppliedIndex(); applied >= commit {
		t.Fatalf("applied %d, committed %d: the test needs a barrier at the end", applied, commit)
	}
	for _, m := range g.All {
		if err := m.group.WaitApplied(clustertest.Context(t), commit); err != nil {
			t.Errorf("%s: %v", m.node.name, err)
		}
		if stats := m.group.Stats(); stats.AppliedIndex < commit {
			t.Errorf("%s: applied %d of %d", m.node.name, stats.AppliedIndex, commit)
		}
	}
}

// A snapshot may end behind the last command, and the log may then begin behind it, too.
func TestWaitAppliedPassesACompactedLog(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 1, func(_ int, options *Options) { options.Snapshot.TrailingBytes = 1 })
	g.startAll()
	g.Propose(0, 2)
	g.stopAll()
	g.startAll()
	leader := g.Leader()
	commit := leader.group.CommitIndex()
	g.snapshotAll()
	applied := leader.machine.AppliedIndex()
	if _, err := leader.group.stores.log.Kind(applied + 1); applied >= commit || !errors.Is(err, raft.ErrLogNotFound) {
		t.Fatalf("applied %d, committed %d, the next entry: %v", applied, commit, err)
	}
	clustertest.Must(t, leader.group.WaitApplied(clustertest.Context(t), commit))
	if stats := leader.group.Stats(); stats.AppliedIndex < commit {
		t.Errorf("applied %d of %d", stats.AppliedIndex, commit)
	}
	g.stopAll()
}

func TestTransferLeadership(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	g.startAll()
	leader := g.Leader()
	clustertest.Must(t, leader.group.TransferLeadership(clustertest.Context(t)))
	last := g.Propose(0, 3)
	if now := g.Leader(); now == leader {
		t.Error("the same node leads")
	}
	g.Agree(last)
}

func TestStatsDescribeTheMembers(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, nil)
	g.startAll()
	g.Agree(g.Propose(0, 5))
	leader := g.Leader()
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
		if err := leader.group.await(ctx, leader.group.raft.VerifyLeader()); err != nil { // causes a heartbeat
			t.Fatal(err)
		}
	}
	for _, m := range g.Followers(leader) {
		if stats := m.group.Stats(); stats.Role != "follower" || stats.LeaderID != leader.node.dir.NodeID {
			t.Errorf("got %+v", stats)
		}
	}
}

// The nodes of a cluster write their snapshots at different entries.
func TestSnapshotsAreSpread(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 3, func(_ int, options *Options) { options.Snapshot.LogBytes = 1 << 20 })
	g.startAll()
	g.Agree(g.Propose(0, 1)) // all know the members
	due := map[int64]bool{}
	for _, m := range g.All {
		d := m.group.snapshotDue()
		if d < 1<<20 || d > 1<<20+1<<18 {
			t.Errorf("a snapshot is due after %d bytes", d)
		}
		due[d] = true
	}
	if len(due) != 3 {
		t.Errorf("they are due after %v", due)
	}
}

// A snapshot is written slowly until the log catches up with it, if its size is known.
func TestSnapshotsTakeTheirTime(t *testing.T) {
	t.Parallel()
	const half = 32 << 10
	g := newGroups(t, 1, func(_ int, options *Options) { options.Snapshot.LogBytes = 2 * half })
	g.startAll()
	g.Agree(g.Propose(0, 10))
	one := g.All[0].group
	if one.machine.maySlowDown()(1) {
		t.Error("a snapshot of an unknown size takes its time")
	}
	g.snapshotAll()
	maySlowDown, size, began := one.machine.maySlowDown(), one.stores.snapshots.Newest().Bytes, one.stores.log.Appended()
	if !maySlowDown(size / 2) {
		t.Error("no log was written, and the snapshot hurries")
	}
	for n := 10; one.stores.log.Appended()-began < half; n += 100 {
		g.Agree(g.Propose(n, n+100))
	}
	if maySlowDown(size / 2) {
		t.Error("half of the log that causes the next snapshot was written, and half of the snapshot takes its time")
	}
}

// A nearly full disk causes a snapshot only if it finds room and reclaims a good part of its own
// size.
func TestWorthReclaiming(t *testing.T) {
	const mib = 1 << 20
	cases := []struct {
		name          string
		deleted, size int64
		free          uint64
		want          bool
	}{
		{"a little state", 2 * mib, mib, 100 * mib, true},
		{"hardly anything was deleted", mib - 1, 0, 100 * mib, false},
		{"the state would fill the disk", 200 * mib, 150 * mib, 100 * mib, false},
		{"it would leave less than it takes", 200 * mib, 60 * mib, 100 * mib, false},
		{"much is written for little", 5 * mib, 400 * mib, 1000 * mib, false},
		{"much is written for much", 50 * mib, 400 * mib, 1000 * mib, true},
		{"nothing is free", 2 * mib, 0, 0, false},
	}
	for _, c := range cases {
		if got := worthReclaiming(c.deleted, c.size, c.free); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMostlyDead(t *testing.T) {
	const mib = 1 << 20
	cases := []struct {
		name             string
		log, state, lost int64
		free             uint64
		want             bool
	}{
		{"purged", 40 * mib, mib, 40 * mib, 1000 * mib, true},
		{"little log", 31 * mib, mib, 31 * mib, 1000 * mib, false},
		{"most is alive", 40 * mib, 30 * mib, 10 * mib, 1000 * mib, false},
		{"a large rest", 40 * mib, 400 * mib, 40 * mib, 1000 * mib, false},
		{"no room", 40 * mib, 20 * mib, 40 * mib, 30 * mib, false},
	}
	for _, c := range cases {
		if got := mostlyDead(c.log, 256*mib, c.state, c.lost, c.free); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Space is reclaimed once, not again while a snapshot is being written.
func TestSpaceIsReclaimedOnce(t *testing.T) {
	t.Parallel()
	clustertest.VerifyNoLeaks(t)
	g := newGroups(t, 1, nil)
	g.startAll()
	g.Agree(g.Propose(0, 10))
	group := g.All[0].group
	const free, state = 1 << 30, 1 << 10
	if group.ReclaimSpace(free, state) {
		t.Error("nothing was deleted, and a snapshot is asked for")
	}
	group.stores.log.NoteDeleted(2 * reclaimLeast)
	group.snapshotting.Store(true)
	if group.ReclaimSpace(free, state) {
		t.Error("a second one is asked for while one is being written")
	}
	group.snapshotting.Store(false)
	if !group.ReclaimSpace(free, state) {
		t.Fatal("none is asked for")
	}
	for ctx := clustertest.Context(t); group.Stats().SnapshotsTaken == 0; wakeup.Sleep(ctx, retryPauseMin) {
		if ctx.Err() != nil {
			t.Fatal("none is taken")
		}
	}
	if waits := group.stores.log.Unreclaimed(); waits != 0 {
		t.Errorf("%d deleted bytes wait behind it", waits)
	}
	if group.ReclaimSpace(free, state) {
		t.Error("another one is asked for")
	}
}
