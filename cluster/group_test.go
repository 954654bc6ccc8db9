package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// member is one node of a cluster in this process.
type member struct {
	t       *testing.T
	cfg     Config
	record  *clustertest.FatalRecord
	machine *fsm.FSM
	process *process
	group   *consensus.Group // nil while stopped
	drained chan struct{}
}

// groups are the members of a cluster in this process.
type groups struct {
	t       *testing.T
	members []*member
}

func newGroups(t *testing.T, n int, change func(i int, cfg *Config)) *groups {
	t.Helper()
	g := &groups{t: t}
	dir := t.TempDir()
	for i := range n {
		cfg := Config{
			NodeName:        fmt.Sprintf("n%d", i+1),
			DataDir:         filepath.Join(dir, fmt.Sprint(i+1)),
			PeerAddr:        "127.0.0.1:0",
			BootstrapExpect: n,
			Log:             LogPolicy{SegmentBytes: 1 << 20},
			Logger:          clustertest.Logger(t, i+1),
		}
		g.members = append(g.members, &member{t: t, cfg: cfg})
	}
	g.newGossipPorts()
	for i, m := range g.members {
		if change != nil {
			change(i, &m.cfg)
		}
	}
	t.Cleanup(func() {
		for _, m := range g.members {
			m.stop()
		}
	})
	return g
}

// newGossipPorts gives every member another gossip address.
func (g *groups) newGossipPorts() {
	g.t.Helper()
	addresses := make([]string, len(g.members))
	for i := range addresses {
		addresses[i] = freeAddress(g.t)
	}
	for i, m := range g.members {
		m.cfg.GossipAddr = addresses[i]
		if len(addresses) > 1 {
			m.cfg.Join = addresses
		}
	}
}

func (m *member) start() {
	m.t.Helper()
	if err := m.tryStart(); err != nil {
		m.t.Fatalf("start %s: %v", m.cfg.NodeName, err)
	}
}

func (m *member) tryStart() error {
	m.record = clustertest.NewFatalRecord()
	m.cfg.Fatal = m.record.Fatal
	m.machine = fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }})
	process, group, err := openParts(context.Background(), m.cfg.WithDefaults(), m.machine)
	if err != nil {
		return err
	}
	m.process, m.group, m.drained = process, group, make(chan struct{})
	go func() { // nobody else takes the gains and losses
		defer close(m.drained)
		for {
			select {
			case <-group.OwnLeadership():
			case <-process.ctx.Done():
				return
			}
		}
	}()
	return nil
}

func (m *member) stop() {
	if m.group == nil {
		return
	}
	if err := closeParts(m.process, m.group); err != nil {
		m.t.Errorf("close %s: %v", m.cfg.NodeName, err)
	}
	<-m.drained
	m.group = nil
	if codes, errs := m.record.All(); len(codes) > 0 {
		m.t.Errorf("%s ended with %v: %v", m.cfg.NodeName, codes, errs)
	}
}

func (g *groups) startAll() {
	g.t.Helper()
	for _, m := range g.members {
		m.start()
	}
}

func (g *groups) stopAll() {
	for _, m := range g.members {
		m.stop()
	}
}

// leader waits until a running member leads and has applied what is committed.
func (g *groups) leader() *member {
	g.t.Helper()
	ctx := clustertest.Context(g.t)
	for ctx.Err() == nil {
		for _, m := range g.members {
			if m.group == nil {
				continue
			}
			if m.group.Leadership().Self && m.group.Barrier(ctx) == nil {
				return m
			}
		}
		g.awaitLeadershipChange(ctx)
	}
	g.t.Fatal("nobody leads")
	return nil
}

// awaitLeadershipChange waits until somebody sees another leader, or a moment.
func (g *groups) awaitLeadershipChange(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for _, m := range g.members {
		if m.group != nil {
			stop := context.AfterFunc(ctx, func() {})
			defer stop()
			select {
			case <-m.group.LeadershipChanged():
			case <-ctx.Done():
			}
			return
		}
	}
}

func (g *groups) followers(leader *member) []*member {
	var followers []*member
	for _, m := range g.members {
		if m != leader && m.group != nil {
			followers = append(followers, m)
		}
	}
	return followers
}

// testEntry is an entry with one command that leaves traces in the state.
func testEntry(t *testing.T, at int) []byte {
	t.Helper()
	return testEntryOf(t, at, &queue.CreateQueue{Queue: fmt.Sprintf("q%d", at)})
}

// testNamedEntry is an entry that can be found in a file.
func testNamedEntry(t *testing.T, at int) []byte {
	t.Helper()
	return testEntryOf(t, at, &queue.CreateQueue{Queue: fmt.Sprintf("q%04d", at)})
}

func testEntryOf(t *testing.T, at int, commands ...queue.Command) []byte {
	t.Helper()
	var frames [][]byte
	for _, command := range commands {
		frame, err := fsm.AppendCommand(nil, command)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	return fsm.AppendEntry(nil, queue.Timestamp(at), frames)
}

// propose writes entries at and following through whoever leads.
func (g *groups) propose(from, to int) (last uint64) {
	g.t.Helper()
	for at := from; at < to; at++ {
		last = g.proposeOne(testEntry(g.t, at))
	}
	return last
}

func (g *groups) proposeOne(entry []byte) uint64 {
	g.t.Helper()
	for {
		wait, err := g.leader().group.Propose(entry)
		if errors.Is(err, fault.ErrNotLeader) {
			continue
		}
		if err != nil {
			g.t.Fatal(err)
		}
		result, err := wait()
		if errors.Is(err, fault.ErrNotLeader) {
			continue
		}
		if err != nil {
			g.t.Fatal(err)
		}
		return result.Index
	}
}

// agree waits until all running members have applied index and compares states.
func (g *groups) agree(index uint64) {
	g.t.Helper()
	ctx := clustertest.Context(g.t)
	var want string
	for _, m := range g.members {
		if m.group == nil {
			continue
		}
		if err := m.group.WaitApplied(ctx, index); err != nil {
			g.t.Fatalf("%s: entry %d is not applied: %v", m.cfg.NodeName, index, err)
		}
		at, hash := m.machine.StateHash()
		got := fmt.Sprintf("%d %x", at, hash)
		if want == "" {
			want = got
		}
		if got != want {
			g.t.Errorf("%s has state %s, another %s", m.cfg.NodeName, got, want)
		}
	}
}

func TestThreeNodesFoundElectReplicateAndRestart(t *testing.T) {
	defer clustertest.VerifyNoLeaks(t)
	for _, store := range []string{storage.LogStoreWAL, storage.LogStoreBoltDB} {
		t.Run(store, func(t *testing.T) {
			g := newGroups(t, 3, func(_ int, cfg *Config) { cfg.Log.Store = store })
			begin := time.Now()
			g.startAll()
			g.leader()
			t.Logf("leader after %v", time.Since(begin))
			g.agree(g.propose(0, 20))
			for _, m := range g.members[0].process.gossip.View() {
				if m.Peer == "" || !m.Alive {
					t.Errorf("gossip knows %+v", m)
				}
			}

			t.Run("a follower restarts elsewhere", func(*testing.T) {
				m := g.followers(g.leader())[0]
				m.stop()
				last := g.propose(20, 30)
				m.start()
				g.agree(last)
			})
			t.Run("the leader restarts", func(*testing.T) {
				m := g.leader()
				m.stop()
				last := g.propose(30, 40)
				m.start()
				g.agree(last)
			})
			t.Run("all restart elsewhere", func(*testing.T) {
				g.stopAll()
				g.newGossipPorts()
				g.startAll()
				g.agree(g.propose(40, 50))
			})
			g.stopAll()
		})
	}
}

func openTestDir(t *testing.T, path, name string) *storage.Dir {
	t.Helper()
	dir, err := storage.OpenDir(path, name, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() }) // most tests close it themselves
	return dir
}
