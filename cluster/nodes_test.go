package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// nodes is a cluster of whole Nodes in this process: real stores in a temporary
// folder, real connections on loopback.
type nodes struct {
	t       *testing.T
	configs []Config
	nodes   []*Node // nil while stopped
}

// startNodes starts n nodes and waits until all are ready. They end with the
// test, which then checks that nothing was left running.
func startNodes(t *testing.T, n int, change func(*Config)) *nodes {
	t.Helper()
	c := prepareNodes(t, n, change)
	for i := range n {
		c.open(i)
	}
	for i := range n {
		c.waitReady(i)
	}
	return c
}

// prepareNodes prepares the nodes for startNodes but starts none.
func prepareNodes(t *testing.T, n int, change func(*Config)) *nodes {
	t.Helper()
	clustertest.VerifyNoLeaks(t)
	c := &nodes{t: t, nodes: make([]*Node, n)}
	dir := t.TempDir() // before the cleanup below: it is removed after the nodes are closed
	t.Cleanup(func() {
		for i, node := range c.nodes {
			if node != nil {
				c.close(i)
			}
		}
	})
	var gossip []string
	for range n {
		gossip = append(gossip, freeAddress(t))
	}
	for i := range n {
		cfg := Config{
			NodeName:        fmt.Sprintf("n%d", i+1),
			DataDir:         filepath.Join(dir, fmt.Sprint(i+1)),
			PeerAddr:        "127.0.0.1:0",
			GossipAddr:      gossip[i],
			BootstrapExpect: n,
			Log:             LogPolicy{SegmentBytes: 1 << 20},
			Logger:          clustertest.Logger(t, i+1),
			Fatal:           func(code fault.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
		}
		if i%3 != 2 { // the others keep bodies in memory, which must make no difference
			cfg.Log.Bodies = BodyPolicy{Store: BodiesInSegments, KeepMin: 1, CacheBytes: 1, SegmentBytes: 64 << 10}
		}
		if n > 1 {
			cfg.Join = gossip
		}
		// No test depends on the free disk space of this machine.
		cfg.Limits.Pressure.DiskSpace = func(string) (environment.DiskSpace, error) {
			return environment.DiskSpace{Free: 512 << 30, Total: 1 << 40}, nil
		}
		if change != nil {
			change(&cfg)
		}
		c.configs = append(c.configs, cfg)
	}
	return c
}

func (c *nodes) open(i int) {
	c.t.Helper()
	node, err := Open(clustertest.Context(c.t), c.configs[i])
	if err != nil {
		c.t.Fatalf("opening node %d: %v", i, err)
	}
	c.nodes[i] = node
}

func (c *nodes) close(i int) {
	c.t.Helper()
	if err := c.nodes[i].Close(clustertest.Context(c.t)); err != nil {
		c.t.Errorf("closing node %d: %v", i, err)
	}
	c.nodes[i] = nil
}

// crash ends a node like a killed process, as far as the others notice: no transfer of leadership,
// and no answers to the requests in flight.
func (c *nodes) crash(i int) {
	c.t.Helper()
	n := c.nodes[i]
	c.nodes[i] = nil
	ctx, cancel := context.WithCancel(c.t.Context())
	cancel()
	n.server.Stop()
	if err := closeParts(n.process, n.group); err != nil {
		c.t.Errorf("crashing node %d: %v", i, err)
	}
	n.Calls.Close()
	n.finish(ctx)
}

func (c *nodes) waitReady(i int) {
	c.t.Helper()
	c.waitFor(fmt.Sprintf("node %d to be ready", i), func() bool { return c.nodes[i].Ready() == nil })
}

// waitFor polls until a condition holds that causes no event.
func (c *nodes) waitFor(what string, holds func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(clustertest.Timeout)
	for !holds() {
		if time.Now().After(deadline) {
			for i, n := range c.nodes {
				if n != nil {
					c.t.Logf("node %d: %+v, ready: %v", i, n.Status(), n.Ready())
				}
			}
			c.t.Fatalf("waiting for %s took too long", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// leader returns the index of the node that leads.
func (c *nodes) leader() int {
	c.t.Helper()
	leader := -1
	c.waitFor("a leader", func() bool {
		for i, n := range c.nodes {
			if n != nil && n.leads() {
				leader = i
				return true
			}
		}
		return false
	})
	return leader
}

// followers returns the indexes of the running nodes that do not lead.
func (c *nodes) followers() []int {
	c.t.Helper()
	leader := c.leader()
	var found []int
	for i, n := range c.nodes {
		if n != nil && i != leader {
			found = append(found, i)
		}
	}
	return found
}

func (c *nodes) submit(i int, cmd queue.Command) Reply {
	c.t.Helper()
	reply, err := c.nodes[i].Submit(clustertest.Context(c.t), cmd)
	if err != nil {
		c.t.Fatalf("node %d: %T: %v", i, cmd, err)
	}
	return reply
}

const (
	standard = "orders"
	fifo     = "orders.fifo"
)

// entryFor returns a message. In a FIFO queue it is in group "g" and its deduplication id is its
// body.
func entryFor(name, body string) queue.SendEntry {
	entry := queue.SendEntry{Body: body}
	if strings.HasSuffix(name, ".fifo") {
		entry.GroupID, entry.GroupIDGiven = "g", true
		entry.DeduplicationID, entry.DeduplicationIDGiven = body, true
	}
	return entry
}

func (c *nodes) create(i int, name string, attributes ...queue.Attribute) {
	c.t.Helper()
	if entryFor(name, "").GroupIDGiven {
		attributes = append(attributes, queue.Attribute{Name: "FifoQueue", Value: "true"})
	}
	c.submit(i, &queue.CreateQueue{Queue: name, Attributes: attributes})
}

func (c *nodes) createTopic(i int, name string, attributes ...queue.Attribute) {
	c.t.Helper()
	if strings.HasSuffix(name, ".fifo") {
		attributes = append(attributes, queue.Attribute{Name: "FifoTopic", Value: "true"})
	}
	c.submit(i, &queue.CreateTopic{Topic: name, TopicARN: "arn:aws:sns:us-east-1:000000000000:" + name, Attributes: attributes})
}

func (c *nodes) send(i int, name, body string) queue.SentEntry {
	c.t.Helper()
	reply := c.submit(i, &queue.SendMessages{Queue: name, Entries: []queue.SendEntry{entryFor(name, body)}})
	sent := reply.Result.(queue.MessagesSent).Entries[0]
	if sent.Err != nil {
		c.t.Fatal(sent.Err)
	}
	return sent
}

func (c *nodes) receive(i int, cmd queue.ReceiveMessages, wait time.Duration) []queue.ReceivedMessage {
	c.t.Helper()
	reply, err := c.nodes[i].Receive(clustertest.Context(c.t), &cmd, wait)
	if err != nil {
		c.t.Fatalf("node %d: receive: %v", i, err)
	}
	return reply.Result.(queue.MessagesReceived).Messages
}

// agree waits until all running nodes report the same state at one index.
func (c *nodes) agree() {
	c.t.Helper()
	c.waitFor("the nodes to agree", func() bool {
		type state struct {
			index uint64
			hash  string
		}
		seen := make(map[state]bool)
		for _, n := range c.nodes {
			if n != nil {
				s := n.Status()
				seen[state{s.AppliedIndex, s.StateHash}] = true
			}
		}
		return len(seen) == 1
	})
}

// gotSnapshots waits until a node has restored at least this many snapshots. A node counts one
// shortly after its state equals the others.
func (c *nodes) gotSnapshots(i int, atLeast uint64) {
	c.t.Helper()
	c.waitFor("the snapshots to be counted", func() bool { return c.nodes[i].group.Stats().SnapshotsRestored >= atLeast })
}

func TestEveryNodeAnswers(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			c := startNodes(t, size, nil)
			c.create(0, fifo)
			for i, n := range c.nodes {
				sent := c.send(i, fifo, fmt.Sprint(i))
				if sent.Sequence != queue.SequenceNumber(i+1) {
					t.Errorf("node %d: sequence number %v", i, sent.Sequence)
				}
				// Every node has the commands that any node has acknowledged.
				for j := range c.nodes {
					position, err := c.nodes[j].Read(clustertest.Context(t), func(v queue.View) error {
						stats, refused := v.Stats(fifo)
						if refused != nil {
							return refused
						}
						if stats.Visible != int64(i+1) {
							t.Errorf("node %d does not see what node %d acknowledged: %+v", j, i, stats)
						}
						return nil
					})
					if err != nil || position.Index == 0 || position.LogTime == 0 {
						t.Errorf("node %d: read at %+v: %v", j, position, err)
					}
				}
				failed := errors.New("what read returns")
				if _, err := n.Read(clustertest.Context(t), func(queue.View) error { return failed }); !errors.Is(err, failed) {
					t.Errorf("got %v", err)
				}
			}
			got := c.receive(size-1, queue.ReceiveMessages{Queue: fifo, MaxMessages: queue.Some(10)}, 0)
			if len(got) != size {
				t.Fatalf("received %d messages", len(got))
			}
			for i, m := range got {
				if m.Body.String() != fmt.Sprint(i) {
					t.Errorf("message %d is %q", i, m.Body)
				}
			}
			c.agree()
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	c.create(0, standard)
	cases := []struct {
		name   string
		cmd    queue.Command
		want   refusal.Code
		logged bool
	}{
		{"refused by the state", &queue.PurgeQueue{Queue: "unknown"}, refusal.QueueDoesNotExist, true},
		{"wrong in itself", &queue.ReceiveMessages{Queue: standard, MaxMessages: queue.Some(11)}, refusal.InvalidParameterValue, false},
		{"wrong in itself, on an unknown queue", &queue.ReceiveMessages{Queue: "unknown", MaxMessages: queue.Some(11)},
			refusal.QueueDoesNotExist, false},
	}
	for i, n := range c.nodes {
		for _, test := range cases {
			t.Run(fmt.Sprintf("%s on node %d", test.name, i), func(t *testing.T) {
				before := c.nodes[c.leader()].Status().CommitIndex
				reply, err := n.Submit(clustertest.Context(t), test.cmd)
				var refused *queue.Error
				if !errors.As(err, &refused) || refused.Code != test.want {
					t.Fatalf("got %v, want code %d", err, test.want)
				}
				if logged := reply.Index > before; logged != test.logged {
					t.Errorf("position %+v after index %d, logged should be %v", reply.Position, before, test.logged)
				}
			})
		}
	}
}

// Long polls on any node reach the leader, and a change made through any node ends them.
func TestLongPollThroughFollowers(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, unhurried)
	leader, followers := c.leader(), c.followers()
	const wait = 20 * time.Second
	waiting := func(n int) {
		c.waitFor("the poll to wait", func() bool { return c.nodes[leader].term.Load().WaitingReceives() == n })
	}
	type answer struct {
		reply Reply
		err   error
	}
	poll := func(ctx context.Context, i int, name string) <-chan answer {
		done := make(chan answer, 1)
		n := c.nodes[i]
		go func() { // ends with its answer, which every test awaits
			reply, err := n.Receive(ctx, &queue.ReceiveMessages{Queue: name}, wait)
			done <- answer{reply, err}
		}()
		return done
	}
	received := func(t *testing.T, a answer) int {
		t.Helper()
		if a.err != nil {
			t.Fatal(a.err)
		}
		return len(a.reply.Result.(queue.MessagesReceived).Messages)
	}

	t.Run("a message sent on another follower", func(t *testing.T) {
		c.create(leader, "message")
		done := poll(clustertest.Context(t), followers[0], "message")
		waiting(1)
		c.send(followers[1], "message", "m")
		if n := received(t, <-done); n != 1 {
			t.Fatalf("%d messages", n)
		}
	})
	t.Run("one message for two polls", func(t *testing.T) {
		c.create(leader, "two")
		first, second := poll(clustertest.Context(t), followers[0], "two"), poll(clustertest.Context(t), followers[1], "two")
		waiting(2)
		c.send(leader, "two", "1")
		waiting(1)
		c.send(leader, "two", "2")
		if n := received(t, <-first) + received(t, <-second); n != 2 {
			t.Fatalf("%d messages", n)
		}
	})
	t.Run("visibility ends", func(t *testing.T) {
		c.create(leader, "visibility")
		c.send(leader, "visibility", "m")
		c.receive(leader, queue.ReceiveMessages{Queue: "visibility", VisibilityTimeout: queue.Some(1)}, 0)
		if n := received(t, <-poll(clustertest.Context(t), followers[0], "visibility")); n != 1 {
			t.Fatalf("%d messages", n)
		}
	})
	t.Run("a group is unblocked", func(t *testing.T) {
		c.create(leader, "group.fifo")
		c.send(leader, "group.fifo", "1")
		held := c.receive(followers[1], queue.ReceiveMessages{Queue: "group.fifo"}, 0)
		c.send(leader, "group.fifo", "2")
		done := poll(clustertest.Context(t), followers[0], "group.fifo")
		waiting(1)
		c.submit(followers[1], &queue.DeleteMessages{Queue: "group.fifo", Handles: []string{held[0].Handle.String()}})
		if n := received(t, <-done); n != 1 {
			t.Fatalf("%d messages", n)
		}
	})
	t.Run("the queue is deleted", func(t *testing.T) {
		c.create(leader, "deleted")
		done := poll(clustertest.Context(t), followers[0], "deleted")
		waiting(1)
		c.submit(followers[1], &queue.DeleteQueue{Queue: "deleted"})
		var refused *queue.Error
		if a := <-done; !errors.As(a.err, &refused) || refused.Code != refusal.QueueDoesNotExist {
			t.Fatalf("got %v", a.err)
		}
	})
	t.Run("the caller hangs up", func(t *testing.T) {
		c.create(leader, "gone")
		ctx, cancel := context.WithCancel(clustertest.Context(t))
		done := poll(ctx, followers[0], "gone")
		waiting(1)
		cancel()
		if a := <-done; !errors.Is(a.err, context.Canceled) {
			t.Fatalf("got %v", a.err)
		}
		waiting(0)
		c.send(leader, "gone", "m")
		if n := len(c.receive(leader, queue.ReceiveMessages{Queue: "gone"}, 0)); n != 1 {
			t.Fatalf("%d messages left for others", n)
		}
	})
	t.Run("an empty answer writes nothing", func(t *testing.T) {
		c.create(leader, "empty")
		before := c.nodes[leader].group.Stats().LastIndex
		for _, i := range append(followers, leader) {
			for _, wait := range []time.Duration{0, time.Second, -1} {
				reply, err := c.nodes[i].Receive(clustertest.Context(t), &queue.ReceiveMessages{Queue: "empty"}, wait)
				if n := received(t, answer{reply, err}); n != 0 {
					t.Fatalf("%d messages from an empty queue", n)
				}
			}
		}
		if after := c.nodes[leader].group.Stats().LastIndex; after != before {
			t.Fatalf("%d log entries", after-before)
		}
	})
}

func TestConcurrentSubmitsShareEntries(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	c.create(0, standard)
	leads := c.nodes[c.leader()]
	before := leads.counts.Entries.Load()
	const calls = 1000
	var clients sync.WaitGroup
	for i := range calls {
		clients.Go(func() {
			_, err := c.nodes[i%3].Submit(clustertest.Context(t),
				&queue.SendMessages{Queue: standard, Entries: []queue.SendEntry{{Body: fmt.Sprint(i)}}})
			if err != nil {
				t.Errorf("send %d: %v", i, err)
			}
		})
	}
	clients.Wait()
	if entries := leads.counts.Entries.Load() - before; entries > calls/4 {
		t.Errorf("%d sends made %d log entries", calls, entries)
	} else {
		t.Logf("%d sends made %d log entries", calls, entries)
	}
	if _, err := c.nodes[0].Read(clustertest.Context(t), func(v queue.View) error {
		if stats, _ := v.Stats(standard); stats.Visible != calls {
			t.Errorf("%d messages stored, want %d", stats.Visible, calls)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	c.agree()
}

// A clean stop of the leader causes no error for clients that wait or write through other nodes.
func TestCleanStopOfTheLeader(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, unhurried)
	leader, followers := c.leader(), c.followers()
	c.create(leader, standard)
	c.create(leader, "waiting")
	type answer struct {
		reply Reply
		err   error
	}
	done := make(chan answer, 1)
	var clients sync.WaitGroup
	clients.Go(func() {
		reply, err := c.nodes[followers[0]].Receive(clustertest.Context(t), &queue.ReceiveMessages{Queue: "waiting"}, 20*time.Second)
		done <- answer{reply, err}
	})
	c.waitFor("the poll to wait", func() bool { return c.nodes[leader].term.Load().WaitingReceives() == 1 })
	stop := make(chan struct{})
	for _, i := range followers {
		n := c.nodes[i]
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := n.Submit(clustertest.Context(t),
					&queue.SendMessages{Queue: standard, Entries: []queue.SendEntry{{Body: "m"}}}); err != nil {
					t.Errorf("a send during a clean stop: %v", err)
					return
				}
			}
		})
	}
	c.close(leader)
	c.waitFor("the poll to wait at the next leader", func() bool { return c.nodes[c.leader()].term.Load().WaitingReceives() == 1 })
	c.send(followers[1], "waiting", "m")
	if a := <-done; a.err != nil || len(a.reply.Result.(queue.MessagesReceived).Messages) != 1 {
		t.Errorf("the poll ended with %+v, %v", a.reply, a.err)
	}
	close(stop)
	clients.Wait()
}

// Without a majority no call succeeds, all calls end, and no command is reported as not executed if
// it may have been.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) { cfg.Limits.Timeout = time.Second })
	leader, followers := c.leader(), c.followers()
	c.create(leader, standard)
	c.crash(followers[0])
	c.crash(followers[1])
	for range 2 { // by the second time it has certainly stepped down
		_, err := c.nodes[leader].Submit(clustertest.Context(t),
			&queue.SendMessages{Queue: standard, Entries: []queue.SendEntry{{Body: "m"}}})
		if !errors.Is(err, fault.ErrUnavailable) && !errors.Is(err, fault.ErrOutcomeUnknown) {
			t.Errorf("send: %v", err)
		}
		_, err = c.nodes[leader].Receive(clustertest.Context(t), &queue.ReceiveMessages{Queue: standard}, 0)
		if !errors.Is(err, fault.ErrUnavailable) && !errors.Is(err, fault.ErrOutcomeUnknown) {
			t.Errorf("receive: %v", err)
		}
		_, err = c.nodes[leader].Read(clustertest.Context(t), func(queue.View) error { t.Error("read without a majority"); return nil })
		if !errors.Is(err, fault.ErrUnavailable) {
			t.Errorf("read: %v", err)
		}
	}
	if err := c.nodes[leader].Ready(); err == nil {
		t.Error("a node without a majority is ready")
	}
}

func TestStatusAndMetrics(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, func(cfg *Config) { unhurried(cfg); cfg.Version = "v1" })
	c.create(0, standard)
	c.send(1, standard, "m")
	c.agree()
	leader := c.leader()
	for i, n := range c.nodes {
		s := n.Status()
		if s.NodeName != c.configs[i].NodeName || s.LeaderName != c.configs[leader].NodeName ||
			s.ClusterID == "" || s.Term == 0 || s.LogTimeMs == 0 || len(s.StateHash) != 32 || s.Version != "v1" || len(s.Peers) != 2 {
			t.Errorf("node %d: %+v", i, s)
		}
		if wantRole := map[bool]string{true: "leader", false: "follower"}[i == leader]; s.Role != wantRole {
			t.Errorf("node %d is %q, want %q", i, s.Role, wantRole)
		}
		values := make(map[string]float64)
		for _, m := range n.Metrics() {
			if m.Name == "" || m.Help == "" || m.Kind == 0 {
				t.Errorf("incomplete metric %+v", m)
			}
			values[m.Name] += m.Value
		}
		if wantLeader := map[bool]float64{true: 1}[i == leader]; values["seriatim_raft_is_leader"] != wantLeader {
			t.Errorf("node %d: is leader %v", i, values["seriatim_raft_is_leader"])
		}
		if sent := sentThrough(n); i == 1 && sent != 1 {
			t.Errorf("%d messages sent through node 1", sent)
		}
	}
}

func TestClosedNode(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, nil)
	n := c.nodes[0]
	c.close(0)
	if _, err := n.Submit(clustertest.Context(t), &queue.AdvanceClock{}); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("submit: %v", err)
	}
	if _, err := n.Read(clustertest.Context(t), func(queue.View) error { return nil }); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	if err := n.Ready(); err == nil {
		t.Error("a closed node is ready")
	}
}

// sentThrough returns the number of messages that a node counts as sent.
func sentThrough(n *Node) (sent uint64) {
	n.QueueTotals(func(_ string, totals QueueTotals) { sent += totals.Sent })
	return sent
}
