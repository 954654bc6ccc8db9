package membership

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

const (
	senders   = 12
	consumers = 4
	sendEvery = 100 * time.Millisecond // of each sender; with the consumers about 200 calls/s
)

// load runs SDK clients with default retries that send, receive and delete while the cluster
// changes, and records the results.
type load struct {
	t     *testing.T
	queue string
	calls atomic.Int64
	*ledger.Ledger

	stopSending context.CancelFunc
	sending     sync.WaitGroup
	consuming   sync.WaitGroup
	sent        chan struct{} // closed after the last send

	mu       sync.Mutex
	nodes    []*harness.Node
	failures []string
}

// startLoad creates a queue and starts the clients, which know all nodes.
func startLoad(t *testing.T, c *harness.Cluster) *load {
	t.Helper()
	return startLoadAt(t, c, c.Nodes...)
}

// startLoadAt is startLoad with clients that know only these nodes.
func startLoadAt(t *testing.T, c *harness.Cluster, nodes ...*harness.Node) *load {
	t.Helper()
	l := &load{t: t, nodes: slices.Clone(nodes), Ledger: ledger.New(), sent: make(chan struct{})}
	client := c.NewSQS(l.pick(0))
	created, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName:  aws.String("load.fifo"),
		Attributes: map[string]string{"FifoQueue": "true", "VisibilityTimeout": "43200"},
	})
	harness.Must(t, err)
	l.queue = *created.QueueUrl
	ctx, stop := context.WithCancel(t.Context())
	l.stopSending = stop
	for i := range senders {
		l.sending.Go(func() { l.send(ctx, c.NewSQS(l.pick(i)), i) })
	}
	for i := range consumers {
		l.consuming.Go(func() { l.consume(c.NewSQS(l.pick(i)), i) })
	}
	return l
}

// pick returns the Pick of one client: it uses the nodes in turn, including those that are down.
// When a call fails, the SDK retries it at the next node.
func (l *load) pick(first int) harness.Pick {
	turn := first
	return func() *harness.Node {
		l.mu.Lock()
		defer l.mu.Unlock()
		turn++
		return l.nodes[turn%len(l.nodes)]
	}
}

// use sets the nodes that clients know.
func (l *load) use(nodes ...*harness.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes = slices.Clone(nodes)
}

func (l *load) failed(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// send sends numbered messages of one group until ctx ends. It counts failed calls and repeats them
// with the same deduplication id.
func (l *load) send(ctx context.Context, client *sqs.Client, sender int) {
	// The senders are spread evenly, so that gaps shorter than the interval are visible.
	time.Sleep(time.Duration(sender) * sendEvery / senders)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	group := fmt.Sprintf("s%d", sender)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		body := ledger.Body(group, n)
		for l.t.Context().Err() == nil {
			l.calls.Add(1)
			tried := time.Now()
			out, err := client.SendMessage(l.t.Context(), &sqs.SendMessageInput{
				QueueUrl: &l.queue, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &body,
			})
			if err == nil {
				l.Acknowledged(body, aws.ToString(out.MessageId), tried)
				break
			}
			l.failed("send %s: %v", body, err)
		}
	}
}

// consume receives and deletes until the queue stays empty after the last send.
func (l *load) consume(client *sqs.Client, consumer int) {
	for n, empty := 0, 0; empty < 2 && l.t.Context().Err() == nil; n++ {
		in := &sqs.ReceiveMessageInput{
			QueueUrl: &l.queue, MaxNumberOfMessages: 2, WaitTimeSeconds: 1,
			ReceiveRequestAttemptId:     aws.String(fmt.Sprintf("c%d-%d", consumer, n)),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		}
		out, err := untilAnswered(l, "receive",
			func(ctx context.Context) (*sqs.ReceiveMessageOutput, error) { return client.ReceiveMessage(ctx, in) })
		if err != nil {
			return
		}
		l.Delivered(ledger.FromSQS(out.Messages)...)
		if len(out.Messages) > 0 {
			empty = 0
			l.remove(client, out.Messages)
			continue
		}
		select {
		case <-l.sent:
			empty++
		default:
		}
	}
}

func (l *load) remove(client *sqs.Client, messages []types.Message) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &l.queue}
	for i, m := range messages {
		in.Entries = append(in.Entries,
			types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	out, err := untilAnswered(l, "delete", func(ctx context.Context) (*sqs.DeleteMessageBatchOutput, error) {
		return client.DeleteMessageBatch(ctx, in)
	})
	if err == nil && len(out.Failed) > 0 {
		l.failed("delete: %s", aws.ToString(out.Failed[0].Message))
	}
}

// untilAnswered repeats a call until it is answered, and counts the failures.
func untilAnswered[O any](l *load, what string, call func(context.Context) (O, error)) (out O, err error) {
	for {
		l.calls.Add(1)
		if out, err = call(l.t.Context()); err == nil || l.t.Context().Err() != nil {
			return out, err
		}
		l.failed("%s: %v", what, err)
	}
}

// finish ends the load, drains the queue, and checks that no message was lost, duplicated, or out
// of order. It returns the number of failed calls.
func (l *load) finish() int {
	l.t.Helper()
	l.stopSending()
	l.sending.Wait()
	close(l.sent)
	l.consuming.Wait()
	report := l.Report()
	for _, fault := range report.Faults() {
		l.t.Error(fault)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, failure := range l.failures {
		l.t.Log("failed call:", failure)
	}
	l.t.Logf("%d calls, %d failed; %v", l.calls.Load(), len(l.failures), report)
	return len(l.failures)
}
