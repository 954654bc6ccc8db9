package consensus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
)

// node holds the parts that groups of one node share: a data directory, and a network whose address
// book the test fills.
type node struct {
	t       *testing.T
	name    string
	path    string
	record  *clustertest.FatalRecord
	dir     *storage.Dir // nil while stopped
	guard   *storage.DiskGuard
	network *peernet.Network
	book    *peernet.AddressBook
	members []*member // one per group
	disk    *heldDisk // nil: writes are not held
	secure  *peernet.TLS
	outside environment.Network // nil: the machine's network
}

// member is the part of a node in one group.
type member struct {
	node    *node
	options Options
	machine *fsm.FSM
	group   *Group // nil while stopped
	drained chan struct{}
}

// groups are the members of one group, each on its own node.
type groups struct{ clustertest.Members[*member] }

func newNodes(t *testing.T, n int) []*node {
	t.Helper()
	dir := t.TempDir()
	var nodes []*node
	for i := range n {
		nodes = append(nodes, &node{t: t, name: fmt.Sprintf("n%d", i+1), path: filepath.Join(dir, fmt.Sprint(i+1))})
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			if n.disk != nil {
				n.disk.release(n.disk.lost())
			}
			n.stop()
		}
	})
	return nodes
}

// newGroup returns group id with a member on each node.
func newGroup(t *testing.T, id uint32, nodes []*node, change func(i int, options *Options)) *groups {
	t.Helper()
	g := &groups{clustertest.Members[*member]{T: t}}
	for i, n := range nodes {
		m := &member{node: n, options: defaultOptions(t, i+1)}
		m.options.ID = id
		if change != nil {
			change(i, &m.options)
		}
		n.members = append(n.members, m)
		g.All = append(g.All, m)
	}
	return g
}

func newGroups(t *testing.T, n int, change func(i int, options *Options)) *groups {
	t.Helper()
	return newGroup(t, 0, newNodes(t, n), change)
}

// defaultOptions returns the options that are the same on all nodes.
func defaultOptions(t *testing.T, i int) Options {
	logs := storage.DefaultLogOptions()
	logs.SegmentBytes = 1 << 20
	return Options{
		Log:      logs,
		Snapshot: SnapshotPolicy{LogBytes: 256 << 20, TrailingBytes: 256 << 20, BytesPerSecond: 64 << 20, SyncBytes: 1 << 20},
		Timing: Timing{
			Heartbeat: 1500 * time.Millisecond, Election: 1500 * time.Millisecond, Lease: 750 * time.Millisecond,
			Commit: 25 * time.Millisecond, Enqueue: 2 * time.Second, RPC: 5 * time.Second,
		},
		Clock:  environment.SystemClock(),
		Logger: clustertest.Logger(t, i),
	}
}

// open opens the shared parts. connect adds the addresses of other nodes.
func (n *node) open() {
	n.t.Helper()
	n.record = clustertest.NewFatalRecord()
	var through func(string, func() error) error
	if n.disk != nil {
		through = n.disk.through
	}
	n.guard = storage.NewDiskGuard(time.Minute, n.record.Fatal, through)
	var err error
	if n.dir, err = storage.OpenDir(n.path, n.name, rand.Reader); err != nil {
		n.t.Fatal(err)
	}
	logger := clustertest.Logger(n.t, 0)
	n.book = peernet.OpenAddressBook(n.dir.File(storage.AddressesName), logger)
	n.network, err = peernet.Listen(context.WithoutCancel(n.t.Context()), peernet.Options{
		NodeID: n.dir.NodeID, ClusterID: func() string { return "c" }, Bind: "127.0.0.1:0", Timeout: 10 * time.Second, Logger: logger,
		TLS: n.secure, Network: n.outside,
		Formats: func() peernet.FormatRange { return peernet.NewFormatRange(1, 1) }, Outdated: func(err error) { n.t.Error(err) },
	}, n.book)
	clustertest.Must(n.t, err)
	for _, m := range n.members {
		n.network.AddGroup(m.options.ID)
	}
	n.network.Serve()
}

// stop closes the groups of a node and the shared parts.
func (n *node) stop() {
	if n.dir == nil {
		return
	}
	for _, m := range n.members {
		if m.group != nil {
			m.group.BeginClose()
		}
	}
	n.network.Disconnect()
	for _, m := range n.members {
		if m.group != nil {
			m.close()
		}
	}
	if err := errors.Join(n.network.Close(), n.dir.Close()); err != nil {
		n.t.Errorf("close %s: %v", n.name, err)
	}
	n.dir = nil
	if codes, errs := n.record.All(); len(codes) > 0 && !n.disk.lost() {
		n.t.Errorf("%s ended with %v: %v", n.name, codes, errs)
	}
}

// start opens a member, and its node if necessary.
func (g *groups) start(m *member) {
	g.T.Helper()
	n := m.node
	if n.dir == nil {
		n.open()
	}
	for _, other := range g.All {
		if other := other.node; other != n && other.dir != nil {
			n.book.Note(other.dir.NodeID, other.network.BoundAddr(), other.dir.Boot)
			other.book.Note(n.dir.NodeID, n.network.BoundAddr(), n.dir.Boot)
		}
	}
	m.open()
	n.network.Open()
}

func (m *member) open() {
	n := m.node
	n.t.Helper()
	m.machine = fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }})
	options := m.options
	options.NodeID, options.Network, options.Machine, options.Fatal = n.dir.NodeID, n.network, m.machine, n.record.Fatal
	options.Guard = n.guard
	options.Address = func(nodeID string) string { return "address of " + nodeID }
	var err error
	if options.Dir, err = n.dir.Group(options.ID); err != nil {
		n.t.Fatal(err)
	}
	group, err := Open(context.Background(), options)
	if err != nil {
		n.t.Fatalf("open group %d of %s: %v", options.ID, n.name, err)
	}
	m.group, m.drained = group, make(chan struct{})
	go func() { // the gains and losses need a receiver
		defer close(m.drained)
		for {
			select {
			case <-group.OwnLeadership():
			case <-group.ctx.Done():
				return
			}
		}
	}()
}

// Name implements clustertest.Member.
func (m *member) Name() string { return m.node.name }

// Running implements clustertest.Member.
func (m *member) Running() (clustertest.Group, *fsm.FSM, bool) {
	return m.group, m.machine, m.group != nil
}

// close closes a member but not its node.
func (m *member) close() {
	if err := m.group.Close(); err != nil {
		m.node.t.Errorf("close group %d of %s: %v", m.options.ID, m.node.name, err)
	}
	<-m.drained
	m.group = nil
}

// startAll starts all members, and bootstraps the group the first time.
func (g *groups) startAll() {
	g.T.Helper()
	var initial []string
	fresh := true
	for _, m := range g.All {
		g.start(m)
		initial = append(initial, m.node.dir.NodeID)
		fresh = fresh && !m.group.options.Dir.HasLog()
	}
	first := g.All[0].group
	if !fresh {
		_ = first.Campaign() // or the library's timeout starts an election
	} else if err := first.Bootstrap(initial); err != nil {
		g.T.Fatal(err)
	}
}

func (g *groups) stopAll() {
	for _, m := range g.All {
		m.node.stop()
	}
}

func openTestDir(t *testing.T, path, name string) *storage.Dir {
	t.Helper()
	dir, err := storage.OpenDir(path, name, rand.Reader)
	clustertest.Must(t, err)
	t.Cleanup(func() { _ = dir.Close() }) // most tests close it
	return dir
}

func openTestGroup(t *testing.T, dir *storage.Dir) *storage.GroupDir {
	t.Helper()
	group, err := dir.Group(0)
	clustertest.Must(t, err)
	return group
}

func TestGroupElectsReplicatesAndRestarts(t *testing.T) {
	t.Parallel()
	clustertest.VerifyNoLeaks(t)
	clustertest.BothStores(t, func(t *testing.T, store string) {
		t.Parallel()
		g := newGroups(t, 3, func(_ int, options *Options) { options.Log.Store = store })
		g.startAll()
		g.Agree(g.Propose(0, 20))
		for i, who := range []func() *member{g.Leader, func() *member { return g.Followers(g.Leader())[0] }} {
			m := who()
			m.node.stop()
			last := g.Propose(20+10*i, 30+10*i)
			g.start(m)
			g.Agree(last)
		}
		g.stopAll()
		g.startAll()
		g.Agree(g.Propose(40, 50))
		g.stopAll()
	})
}

// A node that leads again in a later term has not proven its leadership for the earlier one: it may
// lack entries that were committed in between.
func TestProofIsForOneTerm(t *testing.T) {
	t.Parallel()
	g := newGroups(t, 1, nil)
	g.startAll()
	group := g.Leader().group
	term, leads := group.LeaderTerm()
	if !leads {
		t.Fatal("it does not lead")
	}
	clustertest.Check(t, group.ConfirmLeadership(clustertest.Context(t), term))
	for _, other := range []uint64{term - 1, term + 1} {
		if err := group.ConfirmLeadership(clustertest.Context(t), other); !errors.Is(err, fault.ErrNotLeader) {
			t.Errorf("term %d is confirmed in term %d: %v", other, term, err)
		}
	}
}
