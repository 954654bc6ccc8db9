package failover

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

const (
	senders        = 4
	groupsOfSender = 3
	consumers      = 2
	thinkTime      = 5 * time.Millisecond
	defaultKills   = 10
	acksBetween    = 200 // sends acknowledged between two kills
)

// ledger is what the clients saw: every acknowledged send and every delivery,
// in the order of the answers. Safe for concurrent use.
type ledger struct {
	mu         sync.Mutex
	acked      map[string]string // body to message id
	deliveries []types.Message
	waiting    []*ackWaiter
	problems   []string
}

// ackWaiter waits for n acknowledgements of sends that were tried after since.
type ackWaiter struct {
	since time.Time
	n     int
	done  chan time.Time // capacity 1: the time of the last one
}

func (l *ledger) ack(body, id string, tried time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[body] = id
	now := time.Now()
	l.waiting = slices.DeleteFunc(l.waiting, func(w *ackWaiter) bool {
		if tried.Before(w.since) {
			return false
		}
		if w.n--; w.n > 0 {
			return false
		}
		w.done <- now
		return true
	})
}

func (l *ledger) delivered(messages []types.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deliveries = append(l.deliveries, messages...)
}

func (l *ledger) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// awaitAcks waits for n sends tried after since and returns when the last was
// acknowledged.
func (l *ledger) awaitAcks(t *testing.T, since time.Time, n int) time.Time {
	t.Helper()
	w := &ackWaiter{since: since, n: n, done: make(chan time.Time, 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	select {
	case at := <-w.done:
		return at
	case <-time.After(giveUpAfter):
		t.Fatalf("no send was acknowledged within %v", giveUpAfter)
		return time.Time{}
	}
}

// sendUntil sends to its own groups, one message after the other, until ctx
// ends. A message that was begun is sent until it is acknowledged.
func (l *ledger) sendUntil(ctx context.Context, p *persistent, queue string, sender int) {
	for n := 0; ctx.Err() == nil; n++ {
		group := fmt.Sprintf("s%d-g%d", sender, n%groupsOfSender)
		body := fmt.Sprintf("%s:%d", group, n)
		var tried time.Time
		in := sendInput(queue, group, strings.ReplaceAll(body, ":", "."), body)
		out, err := persist(context.WithoutCancel(ctx), p.sqs.SendMessage, in, func(at time.Time) { tried = at })
		if err != nil {
			l.problem("send %s: %v", body, err)
			return
		}
		l.ack(body, aws.ToString(out.MessageId), tried)
		select {
		case <-ctx.Done():
		case <-time.After(thinkTime):
		}
	}
}

// consumeUntil receives with an attempt id that is repeated until the receive
// is answered, then deletes. It ends when done is closed and the queue stayed
// empty for two receives.
func (l *ledger) consumeUntil(ctx context.Context, p *persistent, queue string, consumer int, done <-chan struct{}) {
	empty := 0
	for n := 0; empty < 2; n++ {
		in := receiveInput(queue, fmt.Sprintf("c%d-%d", consumer, n), 10)
		in.WaitTimeSeconds = 1
		out, err := persist(ctx, p.sqs.ReceiveMessage, in, nil)
		if err != nil {
			l.problem("receive: %v", err)
			return
		}
		l.delivered(out.Messages)
		if err := p.remove(ctx, queue, out.Messages); err != nil {
			l.problem("%v", err)
			return
		}
		select {
		case <-done:
			if len(out.Messages) == 0 {
				empty++
			} else {
				empty = 0
			}
		default:
		}
	}
}

// check compares what was acknowledged with what was delivered.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.problems {
		t.Error(p)
	}
	seen := map[string]bool{}
	last := map[string]int{}
	lost, twice, reordered := 0, 0, 0
	for _, m := range l.deliveries {
		body := aws.ToString(m.Body)
		if seen[body] || m.Attributes["ApproximateReceiveCount"] != "1" {
			twice++
			t.Errorf("%s was delivered twice (receive count %s)", body, m.Attributes["ApproximateReceiveCount"])
		}
		seen[body] = true
		if id, known := l.acked[body]; known && id != aws.ToString(m.MessageId) {
			t.Errorf("%s was acknowledged as %s and delivered as %s", body, id, aws.ToString(m.MessageId))
		}
		group, text, _ := strings.Cut(body, ":")
		n, err := strconv.Atoi(text)
		if err != nil || group != m.Attributes["MessageGroupId"] {
			t.Errorf("%q of group %s was never sent", body, m.Attributes["MessageGroupId"])
		}
		if before, known := last[group]; known && n <= before {
			reordered++
			t.Errorf("%s came after %d", body, before)
		}
		last[group] = n
	}
	for body, id := range l.acked {
		if !seen[body] {
			lost++
			t.Errorf("lost: %s, acknowledged as %s", body, id)
		}
	}
	t.Logf("%d acknowledged, %d delivered; %d lost, %d delivered twice, %d out of order", len(l.acked), len(l.deliveries), lost, twice, reordered)
}

func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("SERIATIM_KILLS")
	if text == "" {
		return defaultKills
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SERIATIM_KILLS is %q, want a count", text)
	}
	return n
}

// TestLeaderKilledUnderLoad kills the leader with SIGKILL again and again while
// clients send, receive and delete, then drains the queue.
func TestLeaderKilledUnderLoad(t *testing.T) {
	strikeUnderLoad(t, "SIGKILL", kills(t), kill, start)
}

// TestLeaderStoppedUnderLoad stops the leader with SIGSTOP, which leaves its
// connections and its port as they are, and lets it go on when another leads.
func TestLeaderStoppedUnderLoad(t *testing.T) {
	strikeUnderLoad(t, "SIGSTOP", (kills(t)+4)/5, signalled((*harness.Node).Pause), signalled((*harness.Node).Resume))
}

func signalled(signal func(*harness.Node) error) func(*testing.T, ...*harness.Node) {
	return func(t *testing.T, nodes ...*harness.Node) {
		t.Helper()
		for _, n := range nodes {
			if err := signal(n); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// strikeUnderLoad strikes and mends the leader n times while clients send,
// receive and delete, then drains the queue.
func strikeUnderLoad(t *testing.T, fault string, n int, strike, mend func(*testing.T, ...*harness.Node)) {
	t.Helper()
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	// Nothing becomes visible again within the run, so every second
	// delivery is a fault.
	queue := p.create(t, "ledger.fifo", map[string]string{"VisibilityTimeout": "43200"})
	l := &ledger{acked: map[string]string{}}

	sending, stopSending := context.WithCancel(t.Context())
	defer stopSending()
	var sendersDone, consumersDone sync.WaitGroup
	allSent := make(chan struct{})
	for i := range senders {
		sendersDone.Go(func() { l.sendUntil(sending, newPersistent(c, c.Rotate()), queue, i) })
	}
	for i := range consumers {
		consumersDone.Go(func() { l.consumeUntil(t.Context(), newPersistent(c, c.Rotate()), queue, i, allSent) })
	}
	gaps := strikeLeaders(t, c, l, n, strike, mend)
	stopSending()
	sendersDone.Wait()
	close(allSent)
	consumersDone.Wait()

	l.check(t)
	if got, want := p.counts(t, queue), [3]string{"0", "0", "0"}; got != want {
		t.Errorf("after the drain the queue counts %v", got)
	}
	agree(t, c)
	slices.Sort(gaps)
	t.Logf("write gap after %s of the leader, %d times: median %v, worst %v", fault, len(gaps), gaps[len(gaps)/2], gaps[len(gaps)-1])
}

// strikeLeaders strikes the leader n times, mends it each time, and returns how
// long each time no send was acknowledged.
func strikeLeaders(t *testing.T, c *harness.Cluster, l *ledger, n int, strike, mend func(*testing.T, ...*harness.Node)) []time.Duration {
	t.Helper()
	var gaps []time.Duration
	l.awaitAcks(t, time.Now(), acksBetween)
	for range n {
		victim := leader(t, c)
		struck := time.Now()
		strike(t, victim)
		gap := l.awaitAcks(t, struck, 1).Sub(struck).Round(time.Millisecond)
		gaps = append(gaps, gap)
		t.Logf("%s struck, sends went on after %v", victim.Name, gap)
		mend(t, victim)
		l.awaitAcks(t, time.Now(), acksBetween)
	}
	return gaps
}
