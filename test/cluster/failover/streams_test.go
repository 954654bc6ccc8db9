package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

const (
	// burst is the number of messages that a sender adds to its stream at a time.
	burst = 5
	// creditOfStream is the credit of a consumer. It is small, so that there are many deliveries,
	// and some are in flight when a leader is killed.
	creditOfStream  = 3
	streamConsumers = 6
)

// from returns a client of the cluster that uses node i first.
func from(c *harness.Cluster, i int) *harness.Cluster {
	i %= len(c.Nodes)
	return c.Part(slices.Concat(c.Nodes[i:], c.Nodes[:i])...)
}

// pending is a message that is not acknowledged yet.
type pending struct {
	body  string
	tried time.Time
	sent  *client.Sent
}

// streamUntil sends to its own groups over a stream, without waiting for answers, until ctx ends.
// Every message must be acknowledged.
func (l *account) streamUntil(ctx context.Context, c *client.Client, queue string, number int) {
	sender := c.NewSender(context.WithoutCancel(ctx), queue)
	answers := make(chan pending, 10_000)
	var answering sync.WaitGroup
	answering.Go(func() {
		for p := range answers {
			result, err := p.sent.Wait(context.WithoutCancel(ctx))
			if err != nil {
				l.Uncertain(p.body)
				l.Problem("send %s: %v", p.body, err)
				continue
			}
			l.Acknowledged(p.body, result.GetMessageId(), p.tried)
		}
	})
	for n := 0; ctx.Err() == nil; n++ {
		group := fmt.Sprintf("s%d-g%d", number, n%groupsOfSender)
		p := pending{body: ledger.Body(group, n), tried: time.Now()}
		var err error
		if p.sent, err = sender.Send(context.WithoutCancel(ctx), &client.Message{Body: p.body, GroupId: &group}); err != nil {
			l.Problem("send %s: %v", p.body, err)
			break
		}
		answers <- p
		if n%burst == burst-1 {
			select {
			case <-ctx.Done():
			case <-time.After(thinkTime):
			}
		}
	}
	close(answers)
	sender.Close()
	answering.Wait()
}

// consumeStreamUntil handles messages until ctx ends.
func (l *account) consumeStreamUntil(ctx context.Context, c *client.Client, queue string) {
	options := client.ConsumeOptions{
		Credit: creditOfStream,
		NotSettled: func(m *client.Delivery, err error) {
			l.Problem("%s was not deleted: %v", m.GetBody(), err)
		},
	}
	err := c.Consume(ctx, queue, options, func(handling context.Context, m *client.Delivery) error {
		l.Delivered(ledger.Delivery{
			Body: m.GetBody(), Group: m.GetGroupId(), MessageID: m.GetMessageId(), Redelivered: m.GetReceiveCount() != 1,
		})
		time.Sleep(thinkTime / 5) // so that leaders are killed while messages are in flight
		if err := handling.Err(); err != nil && !errors.Is(ctx.Err(), err) {
			l.Problem("%s was taken away from its consumer", m.GetBody())
		}
		return nil
	})
	if err != nil {
		l.Problem("consume: %v", err)
	}
}

// drained waits until a queue has no messages, in flight or not.
func drained(t *testing.T, p *persistent, queue string) {
	t.Helper()
	await := time.Now().Add(giveUpAfter)
	for got := p.counts(t, queue); got != [3]string{"0", "0", "0"}; got = p.counts(t, queue) {
		if time.Now().After(await) {
			t.Errorf("the queue is not drained: it counts %v", got)
			return
		}
		time.Sleep(pause)
	}
}

// TestStreamsUnderLeaderKills kills the leader with SIGKILL again and again while messages are sent
// and consumed over the streams of the native API. Every acknowledged message is handled exactly
// once, in the order of its group. Streams end with their node, so the clients continue over other
// nodes and repeat unanswered sends.
func TestStreamsUnderLeaderKills(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	// During the run no visibility timeout ends and no id is forgotten.
	queue := p.create(t, "streams.fifo", map[string]string{"VisibilityTimeout": "43200", "DeduplicationWindowSeconds": "604800"})
	const name = "streams.fifo"
	l := newAccount()

	sending, stopSending := context.WithCancel(t.Context())
	defer stopSending()
	consuming, stopConsuming := context.WithCancel(t.Context())
	defer stopConsuming()
	var sendersDone, consumersDone sync.WaitGroup
	for i := range senders {
		native := dialNodes(t, from(c, i))
		sendersDone.Go(func() { l.streamUntil(sending, native, name, i) })
	}
	for i := range streamConsumers {
		native := dialNodes(t, from(c, i+1))
		consumersDone.Go(func() { l.consumeStreamUntil(consuming, native, name) })
	}
	gaps := failLeaders(t, c, l, kills(t), kill, start)
	stopSending()
	sendersDone.Wait()
	drained(t, p, queue)
	stopConsuming()
	consumersDone.Wait()

	l.check(t)
	if got, want := p.counts(t, queue), [3]string{"0", "0", "0"}; got != want {
		t.Errorf("after the drain the queue counts %v", got)
	}
	agree(t, c)
	slices.Sort(gaps)
	t.Logf("send gap after SIGKILL of the leader, %d times: median %v, worst %v", len(gaps), gaps[len(gaps)/2], gaps[len(gaps)-1])
}

// dialNodes returns a client of the native API for all nodes.
func dialNodes(t *testing.T, c *harness.Cluster) *client.Client {
	t.Helper()
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.Client)
	}
	native, err := client.Dial(client.Options{RetryFor: giveUpAfter}, addresses...)
	harness.Must(t, err)
	t.Cleanup(func() {
		harness.Check(t, native.Close())
	})
	return native
}
