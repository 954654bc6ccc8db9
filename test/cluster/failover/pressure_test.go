package failover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

// exitDiskError is the exit code of a node that cannot write.
const exitDiskError = 80

func singleTry(o *sqs.Options) { o.RetryMaxAttempts = 1 }

// unavailable reports whether the error is a 503 with the code for commands that were certainly not
// executed.
func unavailable(err error) bool {
	var response *awshttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() == 503 && strings.Contains(err.Error(), "ServiceUnavailable")
}

// refusal tries once to send a message through a node, and returns the error.
func refusal(t *testing.T, c *harness.Cluster, n *harness.Node, queue string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), tryTimeout)
	defer cancel()
	id := fmt.Sprint("probe-", time.Now().UnixNano())
	_, err := c.NewSQS(harness.Only(n), singleTry).SendMessage(ctx, sendInput(queue, id, id, id))
	return err
}

// wantPressure expects that a node refuses a message and a batch with 503, the code
// ServiceUnavailable, and a text with the reason.
func wantPressure(t *testing.T, c *harness.Cluster, n *harness.Node, queue, reason string) {
	t.Helper()
	if err := refusal(t, c, n, queue); !unavailable(err) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s answered a message with %v", n.Name, err)
	}
	_, err := c.NewSQS(harness.Only(n), singleTry).SendMessageBatch(t.Context(),
		&sqs.SendMessageBatchInput{QueueUrl: &queue, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("1"), MessageBody: aws.String("refused"), MessageGroupId: aws.String("r"),
				MessageDeduplicationId: aws.String("r")},
		}})
	if !unavailable(err) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s answered a batch with %v", n.Name, err)
	}
}

// wantMetric waits for a line of metrics, since a follower applies entries a moment later than the
// leader.
func wantMetric(t *testing.T, n *harness.Node, line string) {
	t.Helper()
	for giveUp := time.After(giveUpAfter); ; {
		text, err := n.Metrics(t.Context())
		if err == nil && strings.Contains(text, line) {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-giveUp:
			t.Errorf("%s has no metric %s: %v", n.Name, line, err)
			return
		}
	}
}

// metric returns the sum of a series over nodes.
func metric(t *testing.T, nodes []*harness.Node, series string) (sum float64) {
	t.Helper()
	for _, n := range nodes {
		text, err := n.Metrics(t.Context())
		harness.Must(t, err)
		for line := range strings.Lines(text) {
			if value, found := strings.CutPrefix(line, series+" "); found {
				var v float64
				if _, err := fmt.Sscan(value, &v); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				sum += v
			}
		}
	}
	return sum
}

// takeAll receives and deletes until a queue is empty.
func takeAll(t *testing.T, p *persistent, queue string, l *account) {
	t.Helper()
	for i := 0; ; i++ {
		messages := p.receive(t, queue, fmt.Sprint("take-all-", i), 10)
		if len(messages) == 0 {
			return
		}
		l.Delivered(withoutProbes(messages)...)
		harness.Must(t, p.remove(t.Context(), queue, messages))
	}
}

// withoutProbes removes the messages of refusal from deliveries, since these are accepted when
// there is room.
func withoutProbes(messages []types.Message) []ledger.Delivery {
	return slices.DeleteFunc(ledger.FromSQS(messages), func(d ledger.Delivery) bool { return strings.HasPrefix(d.Body, "probe-") })
}

// flood sends from many clients, and tries each message once. A client ends after a number of
// messages or, with untilRefused, at its first refusal.
func flood(t *testing.T, c *harness.Cluster, queue string, clients, each int, body string, untilRefused bool) *account {
	t.Helper()
	a := newAccount()
	var running sync.WaitGroup
	for i := range clients {
		client := c.NewSQS(c.Rotate(), singleTry)
		running.Go(func() {
			for k := range each {
				group := fmt.Sprintf("c%d-%d", i, k)
				text, tried := ledger.Body(group, k)+" "+body, time.Now()
				out, err := once(t.Context(), client.SendMessage, sendInput(queue, group, group, text))
				switch {
				case err == nil:
					a.Acknowledged(text, aws.ToString(out.MessageId), tried)
				case unavailable(err):
					a.Refused(text)
				default:
					a.Problem("a send was answered with %v", err)
				}
				if err != nil && untilRefused {
					return
				}
			}
		})
	}
	running.Wait()
	return a
}

// TestStateLimit fills the state to its limit from many clients. Sends are refused on every node,
// also by the next leader. Receives, visibility changes and deletes continue. With room again,
// sends are accepted.
func TestStateLimit(t *testing.T) {
	const limit = 1 << 20
	c := cluster(t, "--state-bytes-max", "1MiB", "--body-store", "memory") // bodies in segments do not count
	p := newPersistent(c, c.Rotate())
	queue := p.create(t, "full.fifo", map[string]string{"VisibilityTimeout": "43200"})
	sends := flood(t, c, queue, 6, 200, strings.Repeat("x", 8<<10), true)
	t.Logf("%d messages of 8 KiB were taken, then %d refused", sends.Acked(), sends.Rejected())
	if sends.Rejected() != 6 {
		t.Errorf("%d of 6 clients were refused; the limit is not kept", sends.Rejected())
	}
	if size := metric(t, c.Nodes[:1], "seriatim_state_bytes"); size < limit || size > 2*limit {
		t.Errorf("the state takes %.0f bytes, its limit is %d", size, limit)
	}
	full := func() {
		t.Helper()
		for _, n := range c.Running() {
			wantPressure(t, c, n, queue, "state-bytes-max")
			wantMetric(t, n, `seriatim_pressure{reason="state"} 1`)
		}
		if metric(t, c.Running(), `seriatim_pressure_refused_total{reason="state"}`) == 0 {
			t.Error("no refusal was counted")
		}
	}
	full()
	first := leader(t, c)
	kill(t, first)
	leader(t, c) // another node
	full()
	start(t, first)

	take(t, p, queue, sends.Acked()/2, sends)
	waitFor(t, "sends to be taken", func() bool { return refusal(t, c, c.Next(), queue) == nil })
	for _, n := range c.Nodes {
		if err := refusal(t, c, n, queue); err != nil {
			t.Errorf("%s refuses although there is room: %v", n.Name, err)
		}
		wantMetric(t, n, `seriatim_pressure{reason="state"} 0`)
	}
	takeAll(t, p, queue, sends)
	sends.check(t)
	agree(t, c)
}

// TestOverload floods a cluster whose queue of proposals is small. Excess sends are answered with
// 503 and a text that says so, receives and deletes succeed at the first try, no acknowledged
// message is lost, no refused one is stored, and the cluster works after the flood.
func TestOverload(t *testing.T) {
	c := cluster(t, "--proposal-queue-size", "64KiB")
	p := newPersistent(c, c.Rotate())
	queue := p.create(t, "flood.fifo", map[string]string{"VisibilityTimeout": "43200"})
	steady := p.create(t, "steady.fifo", map[string]string{"VisibilityTimeout": "43200"})
	for i := range 200 {
		p.send(t, steady, fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(i))
	}
	flooding := make(chan struct{})
	var beside sync.WaitGroup
	received := 0
	beside.Go(func() {
		client := c.NewSQS(c.Rotate(), singleTry)
		for i := 0; received < 200; i++ {
			out, err := once(t.Context(), client.ReceiveMessage, receiveInput(steady, fmt.Sprint(i), 1))
			if err != nil {
				t.Errorf("a receive beside the flood: %v", err)
				return
			}
			for _, m := range out.Messages {
				if _, err := once(t.Context(), client.DeleteMessage,
					&sqs.DeleteMessageInput{QueueUrl: &steady, ReceiptHandle: m.ReceiptHandle}); err != nil {
					t.Errorf("a delete beside the flood: %v", err)
				}
				received++
			}
			select {
			case <-flooding:
				return
			default:
			}
		}
	})
	sends := flood(t, c, queue, 64, 30, strings.Repeat("x", 30<<10), false)
	close(flooding)
	beside.Wait()
	t.Logf("%d sends were taken, %d refused; %d receives and deletes beside them", sends.Acked(), sends.Rejected(), received)
	if sends.Rejected() == 0 || received == 0 {
		t.Error("that was no flood")
	}
	if metric(t, c.Nodes, `seriatim_pressure_refused_total{reason="queue"}`) == 0 {
		t.Error("no refusal was counted")
	}
	for _, n := range c.Nodes {
		if err := refusal(t, c, n, steady); err != nil {
			t.Errorf("%s refuses after the flood: %v", n.Name, err)
		}
		wantMetric(t, n, `seriatim_pressure{reason="queue"} 0`)
	}
	takeAll(t, p, queue, sends)
	sends.check(t)
	agree(t, c)
}

// TestTooManyConnections opens all connections that one node permits. A further connection waits
// and is served when another one ends. The other nodes are not affected, and metrics count this.
func TestTooManyConnections(t *testing.T) {
	const limit = 8
	c := cluster(t, "--max-connections", fmt.Sprint(limit))
	p := newPersistent(c, c.Rotate())
	queue := p.create(t, "connections.fifo", nil)
	full := c.Nodes[1]
	var held []net.Conn
	hold := func() {
		conn, err := net.Dial("tcp", full.Client)
		harness.Must(t, err)
		t.Cleanup(func() { conn.Close() })
		held = append(held, conn)
	}
	waitFor(t, "all connections to be taken", func() bool {
		if open := metric(t, []*harness.Node{full}, "seriatim_client_connections"); open >= limit {
			return true
		}
		hold()
		return false
	})
	hold() // it waits until another connection ends
	waitFor(t, "the waiting connection to be counted", func() bool {
		return metric(t, []*harness.Node{full}, "seriatim_client_connections_held_total") > 0
	})
	wantMetric(t, full, fmt.Sprintf("seriatim_client_connections_max %d", limit))
	others := newPersistent(c.Part(c.Nodes[0], c.Nodes[2]), c.Part(c.Nodes[0], c.Nodes[2]).Rotate())
	for i := range 20 {
		others.send(t, queue, "g", fmt.Sprint(i), fmt.Sprint(i))
	}
	for _, conn := range held {
		conn.Close()
	}
	waitFor(t, "the node to serve again", func() bool { return refusal(t, c, full, queue) == nil })
}

// take receives and deletes this many messages.
func take(t *testing.T, p *persistent, queue string, count int, l *account) {
	t.Helper()
	for i, got := 0, 0; got < count; i++ {
		messages := p.receive(t, queue, fmt.Sprint("take-", count, "-", i), int32(min(10, count-got)))
		got += len(messages)
		l.Delivered(withoutProbes(messages)...)
		harness.Must(t, p.remove(t.Context(), queue, messages))
		if i > 20*count {
			t.Fatalf("only %d of %d messages came", got, count)
		}
	}
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %s took too long", what)
		case <-look.C:
		}
	}
}
