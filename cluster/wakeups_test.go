package cluster

import (
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

// A command of an operator that makes messages available wakes the calls that wait for them: when its
// answer comes, none waits any more. Without that they would only look again at the end of their wait.
func TestCommandsOfOperatorsWakeWaitingCalls(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, unhurried)
	leader, followers := c.leader(), c.followers()
	ctx := clustertest.Context(t)
	const wait = 20 * time.Second
	paused := func(name, value string) queue.Command {
		return &queue.SetQueueAttributes{Queue: name, Attributes: []queue.Attribute{{Name: "DeliveryPaused", Value: value}}}
	}
	number := func(name string) (n queue.SequenceNumber) {
		t.Helper()
		_, err := c.nodes[leader].Read(ctx, func(v queue.View) error {
			stored, refused := v.Peek(name, 0, "", 1)
			if refused != nil {
				return refused
			}
			n = stored[0].Sequence
			return nil
		})
		clustertest.Must(t, err)
		return n
	}
	receive := func(cmd *queue.ReceiveMessages) func(*Node) (Reply, error) {
		return func(n *Node) (Reply, error) { return n.Receive(ctx, cmd, wait) }
	}
	// woken starts a call on one follower, executes a command on the other one once the call waits, and
	// returns the answer of the call.
	woken := func(t *testing.T, call func(*Node) (Reply, error), cmd queue.Command) queue.Result {
		t.Helper()
		type answer struct {
			reply Reply
			err   error
		}
		done, node := make(chan answer, 1), c.nodes[followers[0]]
		go func() { // ends with its answer, which is awaited below
			reply, err := call(node)
			done <- answer{reply, err}
		}()
		at := c.nodes[leader].term.Load()
		c.waitFor("the call to wait", func() bool { return at.WaitingReceives() == 1 })
		made := c.submit(followers[1], cmd)
		if n := at.WaitingReceives(); n != 0 {
			t.Errorf("after %T %d calls still wait", cmd, n)
		}
		a := <-done
		clustertest.Must(t, a.err)
		if a.reply.Index <= made.Index {
			t.Errorf("answered at %d, before the command at %d", a.reply.Index, made.Index)
		}
		return a.reply.Result
	}
	one := func(t *testing.T, result queue.Result) {
		t.Helper()
		if got := result.(queue.MessagesReceived).Messages; len(got) != 1 || got[0].Body.String() != "m" {
			t.Errorf("received %+v", got)
		}
	}
	for _, name := range []string{"resumed", "resumed.fifo"} {
		t.Run("deliveries are resumed of "+name, func(t *testing.T) {
			c.create(leader, name, queue.Attribute{Name: "DeliveryPaused", Value: "true"})
			c.send(leader, name, "m")
			one(t, woken(t, receive(&queue.ReceiveMessages{Queue: name}), paused(name, "false")))
		})
	}
	t.Run("deliveries are resumed, in a session", func(t *testing.T) {
		name := "session.fifo"
		c.create(leader, name)
		c.send(leader, name, "m")
		locked := c.submit(leader, &queue.AcceptSession{Queue: name, SessionID: "g", SessionIDGiven: true}).Result.(queue.SessionLocked)
		c.submit(leader, paused(name, "true"))
		session := queue.SessionRef{SessionID: "g", Token: locked.Token.String()}
		inSession := &queue.ReceiveMessages{Queue: name, Options: &queue.ReceiveOptions{Session: session}}
		one(t, woken(t, receive(inSession), paused(name, "false")))
	})
	t.Run("deliveries are resumed, and a session is accepted", func(t *testing.T) {
		name := "accepted.fifo"
		c.create(leader, name, queue.Attribute{Name: "DeliveryPaused", Value: "true"})
		c.send(leader, name, "m")
		accept := func(n *Node) (Reply, error) { return n.AcceptSession(ctx, &queue.AcceptSession{Queue: name}, wait) }
		if got := woken(t, accept, paused(name, "false")).(queue.SessionLocked); got.SessionID != "g" {
			t.Errorf("got %+v", got)
		}
	})
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("a message is moved to a queue"+suffix, func(t *testing.T) {
			from, to := "from"+suffix, "to"+suffix
			c.create(leader, from)
			c.create(leader, to)
			c.send(leader, from, "m")
			one(t, woken(t, receive(&queue.ReceiveMessages{Queue: to}),
				&queue.MoveStored{Queue: from, Destination: to, Sequences: []queue.SequenceNumber{number(from)}}))
		})
	}
	t.Run("a message that blocks its group is deleted", func(t *testing.T) {
		name := "blocked.fifo"
		c.create(leader, name)
		c.send(leader, name, "held")
		c.receive(leader, queue.ReceiveMessages{Queue: name, VisibilityTimeout: queue.Some(600)}, 0)
		c.send(leader, name, "m")
		one(t, woken(t, receive(&queue.ReceiveMessages{Queue: name}),
			&queue.DeleteStored{Queue: name, Sequences: []queue.SequenceNumber{number(name)}, Force: true}))
	})
}
