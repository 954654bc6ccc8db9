package strangers

import (
	"flag"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var turns = flag.Int("turns", 0, "how often to measure clients without and with strangers; 0: not")

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

// startFriends begins. The clients know the nodes whose client port has no TLS.
func startFriends(t *testing.T, c *harness.Cluster) *friends {
	t.Helper()
	f := &friends{t: t, stop: make(chan struct{})}
	created, err := c.NewSQS(harness.Only(c.Nodes[0])).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("friends.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range friendsCount {
		client := c.NewSQS(harness.Only(c.Nodes[i%2]))
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

// p99 is the time that one of a hundred calls takes longer than, since the last look.
func (f *friends) p99() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	took := f.took
	f.took = nil
	if len(took) == 0 {
		f.t.Fatal("no call was answered")
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// Clients are served nearly as fast beside strangers. It is measured in turns, and the
// medians are compared; `make strangers` asks for it.
func TestClientsBesideStrangers(t *testing.T) {
	if *turns == 0 {
		t.Log("asked for with -turns")
		return
	}
	c := start(t)
	friends := startFriends(t, c)
	const turn = 5 * time.Second
	time.Sleep(turn)
	friends.p99() // to warm up
	var without, with []time.Duration
	for range *turns {
		time.Sleep(turn)
		without = append(without, friends.p99())
		s := &stranger{t: t, from: net.IPv4(127, 0, 0, 9)}
		var trying sync.WaitGroup
		for end := time.Now().Add(turn); time.Now().Before(end); {
			s.round(&trying, c)
		}
		trying.Wait()
		with = append(with, friends.p99())
		s.hangUp()
	}
	friends.finish()
	slices.Sort(without)
	slices.Sort(with)
	a, b := without[len(without)/2], with[len(with)/2]
	t.Logf("p99 of sends without strangers %v, with %v: medians %v and %v, %.2f times", without, with, a, b, float64(b)/float64(a))
	if b > 2*a {
		t.Errorf("strangers have made p99 of sends more than twice as long: %v, without them %v", b, a)
	}
}

// round is a second of what one stranger does.
func (s *stranger) round(trying *sync.WaitGroup, c *harness.Cluster) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for _, n := range c.Nodes {
		trying.Go(func() {
			s.hold(n.Client, 20, halfHeader)
			s.hold(n.Client, 20, halfBody)
			s.hold(n.Admin, 20, "")
			s.annoy(n.Client)
		})
	}
	trying.Go(func() { s.shakeHands(c.Nodes[2].Client, 10) })
	trying.Go(func() { s.openStreams(c.Nodes[1].Client, 1, 200) })
	for _, one := range floods {
		trying.Go(func() { s.flood(c.Nodes[1].Client, 2_000, one) })
	}
	trying.Wait()
	<-tick.C
	s.hangUp()
}
