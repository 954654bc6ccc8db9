package unauthenticated

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// clients send continuously with valid requests.
type clients struct {
	t       *testing.T
	stop    chan struct{}
	sending sync.WaitGroup

	mu    sync.Mutex
	calls int
	took  []time.Duration // since the last look
}

const (
	clientsCount = 8
	sendEvery    = 20 * time.Millisecond // of each
)

// startClients starts the clients. They use the first nodes, whose client ports have no TLS.
func startClients(t *testing.T, c *harness.Cluster, nodes int) *clients {
	t.Helper()
	f := &clients{t: t, stop: make(chan struct{})}
	created, err := c.NewSQS(harness.Only(c.Nodes[0])).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("clients.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	harness.Must(t, err)
	for i := range clientsCount {
		client := c.NewSQS(harness.Only(c.Nodes[i%nodes]))
		f.sending.Go(func() { f.send(client, *created.QueueUrl, i) })
	}
	return f
}

func (f *clients) send(client *sqs.Client, queue string, number int) {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-f.stop:
			return
		case <-tick.C:
		}
		began := time.Now()
		_, err := client.SendMessage(f.t.Context(), &sqs.SendMessageInput{
			QueueUrl: &queue, MessageBody: aws.String("hello"), MessageGroupId: aws.String(strconv.Itoa(number)),
			MessageDeduplicationId: aws.String(fmt.Sprintf("%d-%d", number, n)),
		})
		if err != nil {
			f.t.Errorf("a send of a client: %v", err)
			return
		}
		f.mu.Lock()
		f.calls++
		f.took = append(f.took, time.Since(began))
		f.mu.Unlock()
	}
}

// awaitCalls waits until the clients have made calls further calls.
func (f *clients) awaitCalls(calls int) {
	f.t.Helper()
	count := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.calls
	}
	from := count()
	await(f.t, "further calls of the clients", func() bool { return count() >= from+calls })
}

func (f *clients) finish() {
	close(f.stop)
	f.sending.Wait()
}

// look starts a new measurement.
func (f *clients) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = nil
}

// longest returns the longest time of a call since the last look.
func (f *clients) longest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Max(f.took)
}

// p99 returns the 99th percentile of call times since the last look.
func (f *clients) p99() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.took) == 0 {
		f.t.Fatal("no call was answered")
	}
	took := slices.Sorted(slices.Values(f.took))
	return took[len(took)*99/100]
}
