package failover

import (
	"fmt"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/amqp/amqptest"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// transacting is a transaction of AMQP that completes a job and sends a result to each of two queues.
type transacting struct {
	*amqptest.Client
	coordinator uint32
	txn         []byte
}

var transacted = []string{"jobs", "results", "copies"}

// begin sends a job, and begins a transaction at a node.
func begin(t *testing.T, node *harness.Node, round string) transacting {
	t.Helper()
	c := transacting{Client: amqptest.Dial(t, node.Client)}
	c.coordinator = c.Coordinator()
	jobs, results, copies, out := c.Sender("jobs"+round), c.Sender("results"+round), c.Sender("copies"+round), c.Receiver("jobs"+round)
	if got := c.Send(jobs, nil, amqptest.Text("1", "job")); got.Code != wire.CodeAccepted {
		t.Fatalf("the answer to a send is %+v %v", got, got.Error)
	}
	c.Credit(out, 0, 1)
	job, _ := c.Take()
	c.txn = c.Declare(c.coordinator)
	within := amqptest.Within(c.txn, amqptest.Accepted)
	for i, got := range []wire.State{
		c.Dispose(job, c.txn, amqptest.Accepted),
		c.Send(results, within, amqptest.Text("2", "result")),
		c.Send(copies, within, amqptest.Text("3", "copy")),
	} {
		if got.Code != wire.CodeTransactionalState {
			t.Fatalf("the answer to part %d is %+v %v", i, got, got.Error)
		}
	}
	return c
}

// commit commits again while the node is without a leader. The state has no code if the outcome is unknown.
func (c transacting) commit() wire.State {
	for {
		c.Transfer(c.coordinator, nil, amqptest.Discharge(c.txn, false))
		got, err := c.Answer()
		if err != nil {
			return wire.State{}
		}
		if !isBusy(got) {
			return got
		}
		time.Sleep(pause)
	}
}

// isBusy reports that a commit wrote nothing and can be repeated.
func isBusy(answer wire.State) bool {
	return answer.Code == wire.CodeRejected && answer.Error != nil && answer.Error.Condition == "com.microsoft:server-busy"
}

// held returns the number of messages in each of the queues of a round.
func held(t *testing.T, p *persistent, urls map[string]string) (held [3]int) {
	t.Helper()
	for i, name := range transacted {
		for _, n := range p.counts(t, urls[name]) {
			var count int
			_, err := fmt.Sscan(n, &count)
			harness.Must(t, err)
			held[i] += count
		}
	}
	return held
}

// interruption is a kill of the leader.
type interruption struct {
	atLeader bool          // the client has a link to it
	sent     bool          // the commit was sent
	after    time.Duration // since then
}

func (i interruption) String() string {
	at, moment := "another node", "before the commit"
	if i.atLeader {
		at = "the leader"
	}
	if i.sent {
		moment = fmt.Sprint(i.after, " after the commit")
	}
	return "link to " + at + ", leader killed " + moment
}

// interrupt kills the leader, and returns the answer to the commit.
func (c transacting) interrupt(t *testing.T, i interruption, victim *harness.Node) wire.State {
	t.Helper()
	if !i.sent {
		kill(t, victim)
		if i.atLeader {
			return wire.State{}
		}
		return c.commit()
	}
	c.Transfer(c.coordinator, nil, amqptest.Discharge(c.txn, false))
	time.Sleep(i.after) // the kills meet the command at different steps
	kill(t, victim)
	got, err := c.Answer()
	switch {
	case err != nil:
		return wire.State{}
	case isBusy(got):
		return c.commit()
	}
	return got
}

// judge compares an answer with the messages in the queues.
func (i interruption) judge(answer wire.State, left [3]int) (whole bool, err error) {
	whole = left == [3]int{0, 1, 1}
	nothing := left == [3]int{1, 0, 0}
	uncertain := answer.Code == 0 && i.sent
	committed := answer.Code == wire.CodeAccepted
	switch {
	case !whole && !nothing, !uncertain && committed != whole:
		return whole, fmt.Errorf("%s: the answer is %#x %v, and the queues have %v", i, answer.Code, answer.Error, left)
	case !i.sent && !i.atLeader && !committed:
		return whole, fmt.Errorf("%s: the transaction is lost with the leader: %#x %v", i, answer.Code, answer.Error)
	}
	return whole, nil
}

// TestTransactionsUnderLeaderKills kills the leader between the parts of a transaction and its commit, and
// right after the commit was sent, with links to the leader and to another node. A transaction happens as a
// whole or not at all, as its answer says.
func TestTransactionsUnderLeaderKills(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	for n := range kills(t) {
		round := fmt.Sprint(n)
		urls := map[string]string{}
		for _, name := range transacted {
			urls[name] = p.create(t, name+round+".fifo", map[string]string{
				"CompatibilityProfile": "servicebus", "MessageGroupIdMode": "Optional", "VisibilityTimeout": "300",
			})
		}
		victim := leader(t, c)
		i := interruption{atLeader: n%2 == 0, sent: n%4 >= 2, after: time.Duration(n/4) * 2 * time.Millisecond}
		node := victim
		if !i.atLeader {
			node = c.Followers(victim)[0]
		}
		answer := begin(t, node, round).interrupt(t, i, victim)
		whole, err := i.judge(answer, held(t, p, urls))
		harness.Check(t, err)
		t.Logf("%s: answer %#x %v, committed %v", i, answer.Code, answer.Error, whole)
		start(t, victim)
	}
	agree(t, c)
}
