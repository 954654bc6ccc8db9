package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus"
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
type groups struct{ clustertest.Members[*member] }

func newGroups(t *testing.T, n int, change func(i int, cfg *Config)) *groups {
	t.Helper()
	clustertest.VerifyNoLeaks(t)
	g := &groups{clustertest.Members[*member]{T: t}}
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
		g.All = append(g.All, &member{t: t, cfg: cfg})
	}
	g.newGossipPorts()
	for i, m := range g.All {
		if change != nil {
			change(i, &m.cfg)
		}
	}
	t.Cleanup(func() {
		for _, m := range g.All {
			m.stop()
		}
	})
	return g
}

// newGossipPorts gives every member another gossip address.
func (g *groups) newGossipPorts() {
	g.T.Helper()
	addresses := make([]string, len(g.All))
	for i := range addresses {
		addresses[i] = freeAddress(g.T)
	}
	for i, m := range g.All {
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
	makeMachine := func(p *process) *fsm.FSM {
		m.machine = fsm.New(fsm.Options{Bodies: p.bodies, Fatal: func(err error) { panic(err) }})
		return m.machine
	}
	process, group, err := openParts(context.Background(), m.cfg.WithDefaults(), makeMachine)
	if err != nil {
		return err
	}
	m.process, m.group, m.drained = process, group, make(chan struct{})
	go func() { // nothing else reads the changes of leadership
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

// Name implements clustertest.Member.
func (m *member) Name() string { return m.cfg.NodeName }

// Running implements clustertest.Member.
func (m *member) Running() (clustertest.Group, *fsm.FSM, bool) {
	return m.group, m.machine, m.group != nil
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
	g.T.Helper()
	for _, m := range g.All {
		m.start()
	}
}

func (g *groups) stopAll() {
	for _, m := range g.All {
		m.stop()
	}
}

// testNamedEntry is an entry whose text can be found in a file.
func testNamedEntry(t *testing.T, at int) []byte {
	t.Helper()
	return clustertest.EntryOf(t, at, &queue.CreateQueue{Queue: fmt.Sprintf("q%04d", at)})
}

func TestThreeNodesFoundElectReplicateAndRestart(t *testing.T) {
	t.Parallel()
	for _, store := range []string{storage.LogStoreWAL, storage.LogStoreBoltDB} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			g := newGroups(t, 3, func(_ int, cfg *Config) { cfg.Log.Store = store })
			begin := time.Now()
			g.startAll()
			g.Leader()
			t.Logf("leader after %v", time.Since(begin))
			g.Agree(g.Propose(0, 20))
			for _, m := range g.All[0].process.gossip.View() {
				if m.Peer == "" || !m.Alive {
					t.Errorf("gossip knows %+v", m)
				}
			}

			t.Run("a follower restarts elsewhere", func(*testing.T) {
				m := g.Followers(g.Leader())[0]
				m.stop()
				last := g.Propose(20, 30)
				m.start()
				g.Agree(last)
			})
			t.Run("the leader restarts", func(*testing.T) {
				m := g.Leader()
				m.stop()
				last := g.Propose(30, 40)
				m.start()
				g.Agree(last)
			})
			t.Run("all restart elsewhere", func(*testing.T) {
				g.stopAll()
				g.newGossipPorts()
				g.startAll()
				g.Agree(g.Propose(40, 50))
			})
			g.stopAll()
		})
	}
}

func openTestDir(t *testing.T, path, name string) *storage.Dir {
	t.Helper()
	dir, err := storage.OpenDir(path, name, rand.Reader)
	clustertest.Must(t, err)
	t.Cleanup(func() { _ = dir.Close() }) // most tests close it themselves
	return dir
}
