package partition

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/kit/ledger"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(network.Inside(func() int { return harness.WithBinary(&binary, m.Run) }))
}

// waitMax bounds every wait on a slow, shared machine. askFor is the time for which a side that must
// not answer is called.
const (
	waitMax = 90 * time.Second
	askFor  = 5 * time.Second
)

// all is set by make partitions. make test runs only the first scenario.
var all = flag.Bool("all", false, "play all scenarios")

func onlyWithAll(t *testing.T) {
	t.Helper()
	if !*all {
		t.Skip("make partitions plays it; it takes too long for every run")
	}
}

// world is a cluster on a network with faults, a queue, and a ledger of its answers. Its methods
// are safe for concurrent use.
type world struct {
	*harness.Cluster
	t    *testing.T
	lab  *network.Lab
	made int // the number of queues so far
	// empty is the URL of a queue without messages.
	empty string

	mu      sync.Mutex
	url     string
	account *ledger.Ledger // of that queue
	number  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	lab, err := network.New(network.Options{Seed: 1, Ports: network.NodePorts()})
	if err != nil {
		t.Skip(err)
	}
	w.lab = lab
	o := harness.Options{Binary: binary, Network: lab,
		Args: []string{"--log-segment-size", "4MiB", "--request-timeout", "2s", "--promote-after", "1s"}}
	t.Cleanup(func() { harness.Must(t, w.lab.Close()) })
	w.Cluster = harness.New(t, o)
	w.empty = w.create()
	w.fresh()
	return w
}

// policy sets the policy of the network.
func (w *world) policy(p network.Policy) {
	w.t.Helper()
	harness.Must(w.t, w.lab.SetPolicy(p))
	w.t.Logf("network: %s", p.Name)
}

func (w *world) leader() *harness.Node {
	w.t.Helper()
	leader, err := w.WaitLeader(w.t.Context(), waitMax)
	harness.Must(w.t, err)
	return leader
}

// at returns a client of one node that tries each call once.
func (w *world) at(n *harness.Node) *sqs.Client {
	return w.NewSQS(harness.Only(n), func(o *sqs.Options) {
		o.Retryer = aws.NopRetryer{}
		o.HTTPClient = &http.Client{Transport: harness.NewRoundTripper(harness.Only(n)), Timeout: 5 * time.Second}
	})
}

// fresh begins a new ledger, with a new queue.
func (w *world) fresh() {
	w.t.Helper()
	url := w.create()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.url, w.account = url, ledger.New()
}

// create makes a queue and returns its URL.
func (w *world) create() string {
	w.t.Helper()
	w.made++
	name := fmt.Sprintf("partition%d.fifo", w.made)
	var out *sqs.CreateQueueOutput
	w.eventually("make a queue", func() (err error) {
		out, err = w.at(w.Next()).CreateQueue(w.t.Context(), &sqs.CreateQueueInput{
			QueueName: &name, Attributes: map[string]string{"FifoQueue": "true", "VisibilityTimeout": "600"},
		})
		return err
	})
	return aws.ToString(out.QueueUrl)
}

// eventually retries until it succeeds.
func (w *world) eventually(what string, try func() error) {
	w.t.Helper()
	begin := time.Now()
	for {
		err := try()
		if err == nil {
			w.t.Logf("%s: after %v", what, time.Since(begin).Round(10*time.Millisecond))
			return
		}
		if time.Since(begin) > waitMax {
			w.t.Fatalf("%s: %v\n%s", what, err, w.LogTails())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// send sends the next message through a node, once.
func (w *world) send(n *harness.Node) error {
	w.mu.Lock()
	w.number++
	number := w.number
	w.mu.Unlock()
	return w.sendNumber(n, "g", number)
}

func (w *world) sendNumber(n *harness.Node, group string, number int) error {
	w.mu.Lock()
	url, account := w.url, w.account
	w.mu.Unlock()
	body, tried := ledger.Body(group, number), time.Now()
	out, err := w.at(n).SendMessage(w.t.Context(), &sqs.SendMessageInput{
		QueueUrl: &url, MessageBody: &body, MessageGroupId: &group, MessageDeduplicationId: &body,
	})
	if err != nil {
		account.Uncertain(body)
		return err
	}
	account.Acknowledged(body, aws.ToString(out.MessageId), tried)
	return nil
}

// serves waits until a send works through each of the nodes.
func (w *world) serves(nodes ...*harness.Node) {
	w.t.Helper()
	for _, n := range nodes {
		w.eventually("service through "+n.Name, func() error { return w.send(n) })
	}
}

// refuses starts goroutines that call an isolated node until ctx ends. No send may be answered. A
// read may be answered until the others have acknowledged a send, because the isolated leader may
// still know the truth. The caller closes served at that time, and waits for the group.
func (w *world) refuses(ctx context.Context, n *harness.Node, asking *sync.WaitGroup, served <-chan struct{}) {
	w.mu.Lock()
	url, empty := w.url, w.empty
	w.mu.Unlock()
	ask := func(what string, never bool, call func() error) {
		asking.Go(func() {
			for ctx.Err() == nil {
				wrong := never
				select {
				case <-served:
					wrong = true
				default:
				}
				if err := call(); err == nil && wrong && ctx.Err() == nil {
					w.t.Errorf("%s, cut off from the others, answered a %s", n.Name, what)
				}
			}
		})
	}
	ask("send", true, func() error { return w.send(n) })
	// It has its own queue, because a message received without an answer stays hidden.
	ask("receive", false, func() error {
		_, err := w.at(n).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &empty, MaxNumberOfMessages: 10})
		return err
	})
	ask("look at a queue", false, func() error {
		_, err := w.at(n).GetQueueAttributes(ctx,
			&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
		return err
	})
}

// heal repairs the network and compares the replicas.
func (w *world) heal() {
	w.t.Helper()
	w.policy(network.Heal())
	w.serves(w.Running()...)
	_, err := w.WaitConverged(w.t.Context(), waitMax)
	harness.Must(w.t, err)
}

// balance drains the queue. Each acknowledged message must be in it, once and in order, and any
// other message must have been sent.
func (w *world) balance() {
	w.t.Helper()
	for {
		var out *sqs.ReceiveMessageOutput
		w.eventually("drain", func() (err error) {
			out, err = w.at(w.leader()).ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: &w.url, MaxNumberOfMessages: 10,
				MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId},
			})
			return err
		})
		if len(out.Messages) == 0 {
			break
		}
		w.account.Delivered(ledger.FromSQS(out.Messages)...)
		for _, m := range out.Messages {
			w.eventually("delete", func() error {
				_, err := w.at(w.leader()).DeleteMessage(w.t.Context(),
					&sqs.DeleteMessageInput{QueueUrl: &w.url, ReceiptHandle: m.ReceiptHandle})
				return err
			})
		}
	}
	report := w.account.Report()
	for _, fault := range report.Faults() {
		w.t.Error(fault)
	}
	w.t.Log(report)
}

// post calls the admin port of a node with POST.
func (w *world) post(n *harness.Node, path, body string) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.Admin+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s of %s: HTTP %d %s", path, n.Name, response.StatusCode, text)
	}
	return err
}
