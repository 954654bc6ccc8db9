package failover

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// TestSessionStreamsUnderLeaderKills kills the leader again and again while sessions are consumed
// over streams. Each session keeps its lock, and its messages are handled in order, each until its
// handler succeeds and not again.
func TestSessionStreamsUnderLeaderKills(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	const name, sessions = "sessions.fifo", 2
	queue := p.create(t, name, map[string]string{"DeduplicationWindowSeconds": "604800", "ReceiveAttemptWindowSeconds": "3600"})
	sending, stopSending := context.WithCancel(t.Context())
	defer stopSending()
	consuming, stopConsuming := context.WithCancel(t.Context())
	defer stopConsuming()
	var sendersDone, consumersDone sync.WaitGroup
	var sent, handled [sessions]atomic.Int64
	for i := range sessions {
		group := fmt.Sprint("s", i)
		native := dialNodes(t, from(c, i))
		held, err := native.Accept(t.Context(), name, group, client.SessionOptions{LockSeconds: 600})
		harness.Must(t, err)
		sendersDone.Go(func() {
			for n := 0; sending.Err() == nil; n++ {
				if _, err := native.Send(t.Context(), name, &client.Message{Body: fmt.Sprint(n), GroupId: &group}); err != nil {
					t.Errorf("send %s %d: %v", group, n, err)
					return
				}
				sent[i].Add(1)
			}
		})
		consumersDone.Go(func() { handleInOrder(consuming, t, held, &handled[i]) })
	}
	for range kills(t) {
		before := [sessions]int64{handled[0].Load(), handled[1].Load()}
		victim := leader(t, c)
		kill(t, victim)
		for i := range sessions { // consumption continues over other nodes
			awaitCount(t, &handled[i], before[i]+20)
		}
		start(t, victim)
	}
	stopSending()
	sendersDone.Wait()
	for i := range sessions {
		awaitCount(t, &handled[i], sent[i].Load())
	}
	stopConsuming()
	consumersDone.Wait()
	if got, want := p.counts(t, queue), [3]string{"0", "0", "0"}; got != want {
		t.Errorf("the queue counts %v", got)
	}
	for i := range sessions {
		if got, want := handled[i].Load(), sent[i].Load(); got != want {
			t.Errorf("session %d: %d messages were handled, %d were sent", i, got, want)
		}
	}
	agree(t, c)
}

// handleInOrder consumes a session until ctx ends. The first handling of every tenth message fails.
func handleInOrder(ctx context.Context, t *testing.T, held *client.Session, handled *atomic.Int64) {
	refused := int64(-1)
	err := held.Consume(ctx, client.ConsumeOptions{
		Credit:     creditOfStream,
		NotSettled: func(m *client.Delivery, err error) { t.Errorf("%s %s: %v", held.ID(), m.GetBody(), err) },
	}, func(_ context.Context, m *client.Delivery) error {
		next := handled.Load()
		if m.GetBody() != fmt.Sprint(next) {
			t.Errorf("%s: handled %s, next is %d", held.ID(), m.GetBody(), next)
			return nil
		}
		if next%10 == 7 && refused != next {
			refused = next
			return errors.New("not now")
		}
		handled.Add(1)
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", held.ID(), err)
	}
	if err := held.Release(context.WithoutCancel(ctx)); err != nil {
		t.Errorf("release %s: %v", held.ID(), err)
	}
}

// awaitCount waits until a count is reached.
func awaitCount(t *testing.T, count *atomic.Int64, wanted int64) {
	t.Helper()
	await := time.Now().Add(giveUpAfter)
	for count.Load() < wanted {
		if time.Now().After(await) || t.Failed() {
			t.Fatalf("%d of %d were handled", count.Load(), wanted)
		}
		time.Sleep(pause)
	}
}
