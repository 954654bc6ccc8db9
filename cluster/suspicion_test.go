package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
)

// patientNodes are nodes whose library would wait for minutes before it elects.
func patientNodes(t *testing.T) *nodes {
	return startNodes(t, 3, func(cfg *Config) {
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 5*time.Minute, 5*time.Minute, time.Minute
		cfg.Timing.Commit = 10 * time.Millisecond
	})
}

// A founder does not wait for a timeout, nor does the follower of a leader whose
// process is gone.
func TestDeadLeaderIsReplacedAtOnce(t *testing.T) {
	c := patientNodes(t)
	c.create(0, fifo)
	for range 2 {
		dead := c.leader()
		c.crash(dead)
		other := (dead + 1) % 3
		c.waitFor("another leader", func() bool {
			// A node that is closed in this process may still say that it leads
			// when its connections break; one that is killed cannot.
			for _, i := range []int{other, (dead + 2) % 3} {
				c.nodes[i].group.suspicion.doubt()
			}
			leader := c.nodes[other].group.Leadership()
			return leader.LeaderID != "" && leader.LeaderID != c.idOf(dead)
		})
		c.send(other, fifo, "m")
		c.open(dead)
		c.waitReady(dead)
	}
	c.agree()
}

// idOf is the id of a node that may be stopped.
func (c *nodes) idOf(i int) string {
	for _, n := range c.nodes {
		if n == nil {
			continue
		}
		for _, m := range n.group.Stats().Members {
			if m.Name == c.configs[i].NodeName {
				return m.NodeID
			}
		}
	}
	return ""
}

// A leader that works stays, whatever becomes of connections and of what single
// followers believe.
func TestLivingLeaderStays(t *testing.T) {
	c := patientNodes(t)
	c.create(0, fifo)
	before := c.nodes[0].group.Leadership()
	for _, i := range c.followers() {
		s := c.nodes[i].group.suspicion
		leader := s.leadership()
		c.nodes[i].group.network.Disconnect()
		if s.investigate(t.Context()) != leaderPresent {
			t.Errorf("node %d misses a leader that answers", i)
		}
		if s.chosen(t.Context(), doubtQuestion{Leader: leader.LeaderID, Term: leader.Term}) {
			t.Errorf("node %d would stand, although the others do not miss the leader", i)
		}
		if answer, err := s.ask(t.Context(), leader.LeaderID, Leadership{Term: leader.Term + 1, LeaderID: leader.LeaderID}, time.Minute); err != nil || answer.Leads {
			t.Errorf("asked about a term it does not lead in the leader says %+v, %v", answer, err)
		}
	}
	c.send(0, fifo, "m")
	c.agree()
	for i, n := range c.nodes {
		if now := n.group.Leadership(); now.Term != before.Term || now.LeaderID != before.LeaderID {
			t.Errorf("node %d follows %s in term %d, before it was %s in %d", i, now.LeaderID, now.Term, before.LeaderID, before.Term)
		}
	}
}

func TestWhoStands(t *testing.T) {
	cases := []struct {
		name    string
		a, b    doubtAnswer
		aBefore bool
	}{
		{"later term", doubtAnswer{LastTerm: 3, LastIndex: 5}, doubtAnswer{LastTerm: 2, LastIndex: 9}, true},
		{"longer log", doubtAnswer{LastTerm: 2, LastIndex: 5}, doubtAnswer{LastTerm: 2, LastIndex: 9}, false},
		{"equal, by id", doubtAnswer{LastTerm: 2, LastIndex: 5}, doubtAnswer{LastTerm: 2, LastIndex: 5}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.a.before("a", c.b, "b"); got != c.aBefore {
				t.Errorf("a before b: %v", got)
			}
			if c.a.before("a", c.b, "b") == c.b.before("b", c.a, "a") {
				t.Error("exactly one of two must stand")
			}
		})
	}
}

// What is committed reaches followers although the library would be silent for
// minutes, entries that nobody reads after included.
func TestCommitsAreToldWithoutDelay(t *testing.T) {
	c := patientNodes(t)
	c.create(0, standard)
	for range 3 {
		c.send(0, standard, "m")
		at := c.nodes[c.leader()].group.CommitIndex()
		for _, i := range c.followers() {
			c.waitFor("a follower to apply", func() bool { return c.nodes[i].replica.AppliedIndex() >= at })
			position, err := c.nodes[i].Read(clustertest.Context(t), func(queue.View) error { return nil })
			if err != nil || position.Index < at {
				t.Errorf("read at %d, %v", position.Index, err)
			}
		}
	}
}

// chanListener gives out what is sent to it.
type chanListener struct {
	net.Listener
	conns chan net.Conn
}

func (l chanListener) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Questions about the leader that are under way are bounded: each may ask the
// leader in turn.
func TestProbesAreBounded(t *testing.T) {
	defer clustertest.VerifyNoLeaks(t)
	hold, held := make(chan struct{}), make(chan struct{})
	s := newSuspicion(suspicionConfig{nodeID: "a"})
	s.start(electorate{consensus: longAgo{}, leadership: func() Leadership {
		held <- struct{}{}
		<-hold
		return Leadership{}
	}})
	listener := chanListener{conns: make(chan net.Conn)}
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(t.Context(), listener) })
	ask := func() net.Conn {
		near, far := net.Pipe()
		listener.conns <- far
		_ = json.NewEncoder(near).Encode(doubtQuestion{}) // or it is closed
		return near
	}
	for range probesMax {
		ask()
		<-held
	}
	closed := make(chan error, 1)
	go func() {
		_, err := ask().Read(make([]byte, 1))
		closed <- err
	}()
	select {
	case <-held:
		t.Error("one more than there may be is looked into")
	case <-closed:
	}
	close(hold)
	close(listener.conns)
	serving.Wait()
}

// longAgo is a library that heard nothing.
type longAgo struct{}

func (longAgo) LastContact() time.Time   { return time.Time{} }
func (longAgo) Stats() map[string]string { return nil }

// A connection that the leader's end closes raises doubt, one of another node does not.
func TestBrokenConnectionRaisesDoubt(t *testing.T) {
	for node, raised := range map[string]int{"leader": 1, "another": 0} {
		s := newSuspicion(suspicionConfig{})
		s.start(electorate{leadership: func() Leadership { return Leadership{Term: 2, LeaderID: "leader"} }})
		s.lostConnection(node)
		if got := len(s.doubts); got != raised {
			t.Errorf("the connection of %s broke: %d doubts, want %d", node, got, raised)
		}
	}
}

// openNetworkOnly opens the parts of a stopped node that a process has while it
// still reads its log.
func (c *nodes) openNetworkOnly(i int) *raftGroup {
	c.t.Helper()
	cfg := c.configs[i].WithDefaults()
	life, cancel := context.WithCancel(c.t.Context())
	g := &raftGroup{cfg: cfg, ctx: life, cancel: cancel}
	g.guard = storage.NewDiskGuard(cfg.Timing.DiskDeadline, cfg.Fatal, cfg.Disk)
	if err := errors.Join(g.openDir(nil), g.openNetwork(nil)); err != nil {
		c.t.Fatal(err)
	}
	return g
}

// A leader that was killed and started again at once does not lead. It says so
// while it still reads its log, so that the others replace it as fast as one whose
// process is gone.
func TestStartingNodeIsReplacedAsLeader(t *testing.T) {
	c := startNodes(t, 3, func(cfg *Config) {
		cfg.PeerAddr = freeAddress(t) // the same before and after
		cfg.Timing.Heartbeat, cfg.Timing.Election, cfg.Timing.Lease = 5*time.Minute, 5*time.Minute, time.Minute
		cfg.Timing.Dial = 5 * time.Minute
	})
	c.create(0, fifo)
	dead := c.leader()
	before := c.nodes[dead].group.Leadership()
	others := c.followers()
	c.crash(dead)
	starting := c.openNetworkOnly(dead)
	closeStarting := sync.OnceFunc(func() {
		if err := starting.Close(); err != nil {
			t.Error(err)
		}
	})
	defer closeStarting()
	s := c.nodes[others[0]].group.suspicion
	answer, err := s.ask(clustertest.Context(t), before.LeaderID, before, clustertest.Patience)
	if err != nil || answer.Leads {
		t.Errorf("the starting node says %+v, %v", answer, err)
	}
	if _, err := s.put(clustertest.Context(t), before.LeaderID, doubtQuestion{Vacant: true}, clustertest.Patience); err == nil {
		t.Error("a starting node has an opinion on whether there is a leader")
	}
	if _, err := c.nodes[others[0]].group.network.Dial(clustertest.Context(t), before.LeaderID, peernet.KindRaft, thisGroup); !errors.Is(err, peernet.ErrRefused) {
		t.Errorf("consensus with a starting node: %v", err)
	}
	for _, i := range others {
		c.nodes[i].group.suspicion.doubt()
	}
	c.waitFor("another leader", func() bool {
		now := c.nodes[others[0]].group.Leadership()
		return now.LeaderID != "" && now.LeaderID != before.LeaderID
	})
	c.send(others[0], fifo, "m")
	closeStarting()
	c.open(dead)
	c.waitReady(dead)
	c.agree()
}

// silentConsensus heard of its leader long ago.
type silentConsensus struct{}

func (silentConsensus) LastContact() time.Time { return time.Now().Add(-time.Hour) }

func (silentConsensus) Stats() map[string]string {
	return map[string]string{"last_log_term": "5", "last_log_index": "9"}
}

// A learner has no vote and must not stand: it could only raise the voters' terms.
func TestLearnerDoesNotStand(t *testing.T) {
	gone := Leadership{Term: 5, LeaderID: "gone-4"}
	voters := []string{"b-2", "c-3", "gone-4"}
	var all []*suspicion
	var books []*peernet.AddressBook
	for _, id := range []string{"a-1", "b-2", "c-3"} {
		network, book := peernettest.Open(t, id, nil)
		books = append(books, book)
		s := newSuspicion(suspicionConfig{nodeID: id, network: network, clock: environment.SystemClock(), log: clustertest.Logger(t, 0), silence: time.Second})
		s.start(electorate{
			consensus: silentConsensus{}, leadership: func() Leadership { return gone }, voters: func() []string { return voters },
		})
		all = append(all, s)
		go s.serve(clustertest.Context(t), network.Listener(peernet.KindFailureDetector, thisGroup))
	}
	learner := all[0]
	for _, s := range all {
		books[0].Note(s.nodeID, s.network.BoundAddr(), 1)
	}
	question := doubtQuestion{Leader: gone.LeaderID, Term: gone.Term}
	if learner.chosen(clustertest.Context(t), question) {
		t.Error("a learner would stand for election")
	}
	voters = append(voters, learner.nodeID)
	if !learner.chosen(clustertest.Context(t), question) {
		t.Error("with a vote it does not stand either: the test proves nothing")
	}
}
