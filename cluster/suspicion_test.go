package cluster

import (
	"net"
	"testing"
	"time"

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
		c.nodes[i].group.network.disconnect()
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
			c.waitFor("a follower to apply", func() bool { return c.nodes[i].replica.machine.AppliedIndex() >= at })
			position, err := c.nodes[i].Read(testContext(t), func(queue.View) error { return nil })
			if err != nil || position.Index < at {
				t.Errorf("read at %d, %v", position.Index, err)
			}
		}
	}
}

// A connection that the leader's end closes raises doubt, one of another node does not.
func TestBrokenConnectionRaisesDoubt(t *testing.T) {
	for node, raised := range map[string]int{"leader": 1, "another": 0} {
		s := &suspicion{leadership: func() Leadership { return Leadership{Term: 2, LeaderID: "leader"} }, doubts: make(chan struct{}, 1)}
		near, far := net.Pipe()
		conn := &peerConn{Conn: near, owner: &peers{lost: s.lostConnection, conns: map[*peerConn]struct{}{}}, node: node}
		if err := far.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a closed connection was read")
		}
		if got := len(s.doubts); got != raised {
			t.Errorf("the connection of %s broke: %d doubts, want %d", node, got, raised)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
