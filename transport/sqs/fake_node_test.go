package sqs

import (
	"context"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// brokerNode is a Node without a cluster: a real Broker behind a mutex, with a clock that tests
// advance. Safe for concurrent use.
type brokerNode struct {
	mu      sync.Mutex
	broker  *queue.Broker
	now     queue.Timestamp
	index   uint64
	changed chan struct{} // closed and replaced at each change
	waiting chan struct{} // receives a value when a Receive begins to wait; more capacity than tests need
	fail    error         // the error of every call, if set
	repeat  bool          // report every command as possibly repeated
}

const testStart = queue.Timestamp(1_700_000_000_000)

func newBrokerNode() *brokerNode {
	n := &brokerNode{broker: queue.New(), now: testStart, changed: make(chan struct{}), waiting: make(chan struct{}, 100)}
	for _, cmd := range []queue.Command{
		&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"},
		&queue.SetClusterSetting{Name: queue.SettingMinimumWindow, Value: "1"},
		&queue.SetClusterSetting{Name: queue.SettingAWSCooldowns, Value: "true"},
	} {
		if _, err := n.broker.Apply(n.now, cmd); err != nil {
			panic(err)
		}
	}
	return n
}

// pass advances the clock.
func (n *brokerNode) pass(d logtime.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = n.now.Add(d)
	n.apply(&queue.AdvanceClock{})
}

// apply must be called with the mutex held.
func (n *brokerNode) apply(cmd queue.Command) (queue.Result, *queue.Error) {
	n.index++
	result, err := n.broker.Apply(n.now, cmd)
	n.broker.TakeEvents(nil)
	close(n.changed)
	n.changed = make(chan struct{})
	return result, err
}

// EncryptsAtRest returns true, as tests of attributes expect.
func (n *brokerNode) EncryptsAtRest() bool { return true }

func (n *brokerNode) position() cluster.Position {
	return cluster.Position{Index: n.index, LogTime: n.broker.Now()}
}

func (n *brokerNode) Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return cluster.Reply{}, n.fail
	}
	if err := ctx.Err(); err != nil {
		return cluster.Reply{}, err
	}
	prepared, refusal := queue.Prepare(cmd)
	if refusal != nil {
		result, err := n.broker.View().Refuse(cmd, refusal)
		if err != nil {
			return cluster.Reply{}, err
		}
		return cluster.Reply{Result: result, Position: n.position()}, nil
	}
	// A real node, too, encodes a command before it looks at the queue.
	if _, err := codec.AppendCommand(nil, prepared.Command); err != nil {
		return cluster.Reply{}, err
	}
	result, err := n.apply(prepared.Command)
	reply := cluster.Reply{Result: prepared.Answer(result), Position: n.position(), Repeated: n.repeat}
	if err != nil {
		return reply, err
	}
	return reply, nil
}

func (n *brokerNode) BeginReceive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration,
	complete func(cluster.Reply, error)) {
	go func() { complete(n.Receive(ctx, cmd, wait)) }() // ends with the answer or with the context
}

func (n *brokerNode) Receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration) (cluster.Reply, error) {
	if err := cmd.Validate(); err != nil {
		return n.Submit(ctx, cmd)
	}
	for {
		n.mu.Lock()
		attributes, refusal := n.broker.View().Typed(cmd.Queue)
		deliverable := refusal == nil && n.broker.View().Deliverable(cmd.Queue)
		changed := n.changed
		n.mu.Unlock()
		if refusal != nil {
			return cluster.Reply{}, refusal
		}
		if wait < 0 {
			wait = time.Duration(attributes.ReceiveWaitSeconds) * time.Second
		}
		if deliverable || cmd.AttemptIDGiven || n.fail != nil {
			return n.Submit(ctx, cmd)
		}
		if wait == 0 {
			return cluster.Reply{Result: queue.MessagesReceived{}}, nil
		}
		n.waiting <- struct{}{}
		select {
		case <-changed:
		case <-ctx.Done():
			return cluster.Reply{}, ctx.Err()
		}
	}
}

func (n *brokerNode) Read(_ context.Context, read func(queue.View) error) (cluster.Position, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return cluster.Position{}, n.fail
	}
	return n.position(), read(n.broker.View())
}

func (n *brokerNode) Access() *access.Table {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broker.View().Access()
}

func (n *brokerNode) ReadLocal(read func(queue.View)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read(n.broker.View())
}
