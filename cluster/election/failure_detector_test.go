package election

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A leader that answers stays, regardless of broken connections and of a single follower's view.
func TestLivingLeaderIsNotReplaced(t *testing.T) {
	leader := &testNode{id: "a-1", leads: true, leader: "a-1"}
	follower := &testNode{id: "b-2", leader: "a-1", silent: 2 * testSilence}
	other := &testNode{id: "c-3", leader: "a-1"}
	openAll(t, []string{"a-1", "b-2", "c-3"}, leader, follower, other)
	follower.options.Network.Disconnect()
	ctx := clustertest.Context(t)
	if state := follower.checkLeader(ctx); state != leaderAlive {
		t.Errorf("a leader that answers is in state %v", state)
	}
	if follower.shouldCampaign(ctx, question{Leader: "a-1", Term: 5}) {
		t.Error("a follower would campaign although the other does not miss the leader")
	}
	if a, err := follower.ask(ctx, "a-1", question{Leader: "a-1", Term: 6}, time.Minute); err != nil || a.Leads {
		t.Errorf("asked about a term in which it does not lead the leader says %+v, %v", a, err)
	}
}

// The voter with the longest log campaigns once a majority finds the leader of the same term
// missing.
func TestMissingLeaderIsReplaced(t *testing.T) {
	const gone = "gone-4"
	voters := []string{"a-1", "b-2", gone}
	behind := LogPosition{Term: 5, Index: 8}
	cases := []struct {
		name        string
		node, other testNode
		state       leaderState
		campaigns   int
	}{
		{"both miss it", testNode{}, testNode{}, leaderMissing, 1},
		{"the other's log is longer", testNode{last: behind}, testNode{}, leaderMissing, 0},
		{"the other's log is shorter", testNode{}, testNode{last: behind}, leaderMissing, 1},
		{"the other follows a later term", testNode{}, testNode{term: 6}, leaderMissing, 0},
		{"the other knows no leader of the term", testNode{}, testNode{leader: "-"}, leaderMissing, 1},
		{"the other leads", testNode{}, testNode{leads: true, term: 6, leader: "b-2"}, leaderMissing, 0},
		{"it was heard a moment ago", testNode{silent: 1}, testNode{}, leaderUnclear, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			node, other := &c.node, &c.other
			node.id, other.id = "a-1", "b-2"
			for _, n := range []*testNode{node, other} {
				switch n.leader {
				case "":
					n.leader = gone
				case "-":
					n.leader = ""
				}
				if n.silent == 0 {
					n.silent = 2 * testSilence
				}
			}
			openAll(t, voters, node, other)
			if state := node.checkLeader(clustertest.Context(t)); state != c.state {
				t.Errorf("the leader is in state %v, want %v", state, c.state)
			}
			if got := len(node.campaigns); got != c.campaigns {
				t.Errorf("%d campaigns, want %d", got, c.campaigns)
			}
		})
	}
}

// If the leader's process ends, its connections break and its port refuses. That suffices, without
// waiting for silence.
func TestLeaderWhoseProcessIsGoneIsReplacedAtOnce(t *testing.T) {
	const gone = "gone-4"
	node, other := &testNode{id: "a-1", leader: gone, silent: 1}, &testNode{id: "b-2", leader: gone, silent: 1}
	books := openAll(t, []string{"a-1", "b-2", gone}, node, other)
	for _, book := range books {
		book.Note(gone, "127.0.0.1:1", 1) // no process listens there
	}
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		node.Run(ctx)
	}()
	node.Suspect(gone)
	select {
	case <-node.campaigns:
	case <-ctx.Done():
		t.Error("nobody campaigned")
	}
	cancel()
	<-ended
}

// An election without a winner, for example because another log has grown, is repeated without
// waiting for silence.
func TestLostElectionIsRepeatedSoon(t *testing.T) {
	const gone = "gone-4"
	node := &testNode{id: "a-1", leader: gone, silent: 2 * testSilence, loses: true}
	other := &testNode{id: "b-2"}
	openAll(t, []string{"a-1", "b-2", gone}, node, other)
	ctx, cancel := context.WithCancel(clustertest.Context(t))
	var running sync.WaitGroup
	running.Go(func() { node.Run(ctx) })
	defer running.Wait()
	defer cancel()
	node.Notify()
	for i := range 2 {
		select {
		case <-node.campaigns:
		case <-ctx.Done():
			t.Fatalf("%d campaigns", i)
		}
	}
}

func TestWhoCampaigns(t *testing.T) {
	cases := []struct {
		name    string
		a, b    answer
		aBefore bool
	}{
		{"later term", answer{LastTerm: 3, LastIndex: 5}, answer{LastTerm: 2, LastIndex: 9}, true},
		{"longer log", answer{LastTerm: 2, LastIndex: 5}, answer{LastTerm: 2, LastIndex: 9}, false},
		{"equal, by id", answer{LastTerm: 2, LastIndex: 5}, answer{LastTerm: 2, LastIndex: 5}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.a.before("a", c.b, "b"); got != c.aBefore {
				t.Errorf("a before b: %v", got)
			}
			if c.a.before("a", c.b, "b") == c.b.before("b", c.a, "a") {
				t.Error("exactly one of two must campaign")
			}
		})
	}
}

// A learner must not campaign: it could only raise the voters' terms.
func TestLearnerDoesNotCampaign(t *testing.T) {
	q := question{Leader: "gone-4", Term: 5}
	for _, c := range []struct {
		name   string
		voters []string
		want   bool
	}{
		{"as a learner", []string{"b-2", "c-3", "gone-4"}, false},
		{"as a voter", []string{"b-2", "c-3", "gone-4", "a-1"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var nodes []*testNode
			for _, id := range []string{"a-1", "b-2", "c-3"} {
				nodes = append(nodes, &testNode{id: id, leader: "gone-4", silent: 2 * testSilence})
			}
			openAll(t, c.voters, nodes...)
			if got := nodes[0].shouldCampaign(clustertest.Context(t), q); got != c.want {
				t.Errorf("the node should campaign: %v", got)
			}
		})
	}
}

// A connection that the leader closed makes a follower check the leader; one of another node does
// not.
func TestBrokenConnectionStartsACheck(t *testing.T) {
	for node, raised := range map[string]int{"leader": 1, "another": 0} {
		d := New(Options{})
		d.Suspect(node) // before Start: ignored
		d.Start(Consensus{Leadership: func() Leadership { return Leadership{Term: 2, LeaderID: "leader"} }})
		d.Suspect(node)
		if got := len(d.suspected); got != raised {
			t.Errorf("the connection of %s broke: %d tokens, want %d", node, got, raised)
		}
	}
}

// chanListener accepts the connections of a channel.
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

func (l chanListener) Close() error { return nil }

// The number of concurrent questions is bounded, because each may make this node ask the leader.
func TestQuestionsAreBounded(t *testing.T) {
	clustertest.VerifyNoLeaks(t)
	hold, held := make(chan struct{}), make(chan struct{})
	d := New(Options{NodeID: "a"})
	d.Start(Consensus{
		LastEntry: func() LogPosition { return LogPosition{} },
		Leadership: func() Leadership {
			held <- struct{}{}
			<-hold
			return Leadership{}
		},
	})
	listener := chanListener{conns: make(chan net.Conn)}
	var serving sync.WaitGroup
	serving.Go(func() { d.Serve(t.Context(), listener) })
	ask := func() net.Conn {
		near, far := net.Pipe()
		listener.conns <- far
		_ = json.NewEncoder(near).Encode(question{}) // an error if it is closed
		return near
	}
	for range questionsMax {
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
		t.Error("one more than there may be is answered")
	case <-closed:
	}
	close(hold)
	close(listener.conns)
	serving.Wait()
}
