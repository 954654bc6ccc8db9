package strangers

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

// friends are clients that send all the time.
type friends struct {
	t       *testing.T
	stop    chan struct{}
	sending sync.WaitGroup

	mu    sync.Mutex
	calls int
	took  []time.Duration // since the last look
}

const (
	friendsCount = 8
	sendEvery    = 20 * time.Millisecond // of each
)

// startFriends begins. The clients know the first nodes, whose client ports have no TLS.
func startFriends(t *testing.T, c *harness.Cluster, nodes int) *friends {
	t.Helper()
	f := &friends{t: t, stop: make(chan struct{})}
	created, err := c.NewSQS(harness.Only(c.Nodes[0])).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("friends.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range friendsCount {
		client := c.NewSQS(harness.Only(c.Nodes[i%nodes]))
		f.sending.Go(func() { f.send(client, *created.QueueUrl, i) })
	}
	return f
}

func (f *friends) send(client *sqs.Client, queue string, friend int) {
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
			QueueUrl: &queue, MessageBody: aws.String("hello"), MessageGroupId: aws.String(strconv.Itoa(friend)),
			MessageDeduplicationId: aws.String(fmt.Sprintf("%d-%d", friend, n)),
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

// goOn waits for so many further calls.
func (f *friends) goOn(calls int) {
	f.t.Helper()
	count := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.calls
	}
	from := count()
	await(f.t, "clients to go on", func() bool { return count() >= from+calls })
}

func (f *friends) finish() {
	close(f.stop)
	f.sending.Wait()
}

// look begins to measure anew.
func (f *friends) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took = nil
}

// longest is the longest that a call took since the last look.
func (f *friends) longest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Max(f.took)
}

// p99 is the time that one of a hundred calls takes longer than, since the last look.
func (f *friends) p99() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.took) == 0 {
		f.t.Fatal("no call was answered")
	}
	took := slices.Sorted(slices.Values(f.took))
	return took[len(took)*99/100]
}
