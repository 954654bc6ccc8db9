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

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

const (
	senders        = 4
	groupsOfSender = 3
	consumers      = 2
	thinkTime      = 5 * time.Millisecond
	defaultKills   = 10
	acksBetween    = 200 // sends acknowledged between two kills
)

// account is a ledger of one queue with its clients.
type account struct{ *ledger.Ledger }

func newAccount() *account { return &account{ledger.New()} }

// awaitAcks waits until n sends that were tried after since are acknowledged, and returns the time
// of the last one.
func (l *account) awaitAcks(t *testing.T, since time.Time, n int) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), giveUpAfter)
	defer cancel()
	at, err := l.AwaitAcks(ctx, since, n)
	harness.Must(t, err)
	return at
}

// sendUntil sends to its own groups, one message after the other, until ctx ends. It repeats each
// message until it is acknowledged.
func (l *account) sendUntil(ctx context.Context, p *persistent, queue string, sender int) {
	for n := 0; ctx.Err() == nil; n++ {
		group := fmt.Sprintf("s%d-g%d", sender, n%groupsOfSender)
		body := ledger.Body(group, n)
		var tried time.Time
		in := sendInput(queue, group, strings.ReplaceAll(body, ":", "."), body)
		out, err := persist(context.WithoutCancel(ctx), p.sqs.SendMessage, in, func(at time.Time) { tried = at })
		if err != nil {
			l.Problem("send %s: %v", body, err)
			return
		}
		l.Acknowledged(body, aws.ToString(out.MessageId), tried)
		select {
		case <-ctx.Done():
		case <-time.After(thinkTime):
		}
	}
}

// consumeUntil receives with an attempt id, repeats the receive until it is answered, and deletes
// the messages. It ends after done is closed and two receives were empty.
func (l *account) consumeUntil(ctx context.Context, p *persistent, queue string, consumer int, done <-chan struct{}) {
	empty := 0
	for n := 0; empty < 2; n++ {
		in := receiveInput(queue, fmt.Sprintf("c%d-%d", consumer, n), 10)
		in.WaitTimeSeconds = 1
		out, err := persist(ctx, p.sqs.ReceiveMessage, in, nil)
		if err != nil {
			l.Problem("receive: %v", err)
			return
		}
		l.Delivered(ledger.FromSQS(out.Messages)...)
		if err := p.remove(ctx, queue, out.Messages); err != nil {
			l.Problem("%v", err)
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

// check fails the test for each problem that the account finds.
func (l *account) check(t *testing.T) {
	t.Helper()
	report := l.Report()
	for _, fault := range report.Faults() {
		t.Error(fault)
	}
	t.Log(report)
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
	failUnderLoad(t, "SIGKILL", kills(t), kill, start)
}

// TestLeaderStoppedUnderLoad pauses the leader with SIGSTOP, which keeps its connections and port,
// and continues it when another one leads.
func TestLeaderStoppedUnderLoad(t *testing.T) {
	failUnderLoad(t, "SIGSTOP", (kills(t)+4)/5, signalled((*harness.Node).Pause), signalled((*harness.Node).Resume))
}

func signalled(signal func(*harness.Node) error) func(*testing.T, ...*harness.Node) {
	return func(t *testing.T, nodes ...*harness.Node) {
		t.Helper()
		for _, n := range nodes {
			harness.Must(t, signal(n))
		}
	}
}

// failUnderLoad breaks and repairs the leader n times while clients send, receive and delete, and
// then drains the queue.
func failUnderLoad(t *testing.T, fault string, n int, fail, mend func(*testing.T, ...*harness.Node)) {
	t.Helper()
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	// No visibility timeout ends during the run, so a second delivery is always an error.
	queue := p.create(t, "ledger.fifo", map[string]string{"VisibilityTimeout": "43200"})
	l := newAccount()

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
	gaps := failLeaders(t, c, l, n, fail, mend)
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

// failLeaders breaks and repairs the leader n times. It returns for each time the longest time
// between acknowledged sends.
func failLeaders(t *testing.T, c *harness.Cluster, l *account, n int, fail, mend func(*testing.T, ...*harness.Node)) []time.Duration {
	t.Helper()
	var gaps []time.Duration
	l.awaitAcks(t, time.Now(), acksBetween)
	for range n {
		victim := leader(t, c)
		failedAt := time.Now()
		fail(t, victim)
		gap := l.awaitAcks(t, failedAt, 1).Sub(failedAt).Round(time.Millisecond)
		gaps = append(gaps, gap)
		t.Logf("%s failed, sends were answered again after %v", victim.Name, gap)
		mend(t, victim)
		l.awaitAcks(t, time.Now(), acksBetween)
	}
	return gaps
}
