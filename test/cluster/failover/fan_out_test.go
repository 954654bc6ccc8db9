package failover

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/ledger"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

const (
	subscribers = 5
	publishers  = 2 // of each API
	// fanOutKills is the default number of kills of the leader; SERIATIM_KILLS overrides it.
	fanOutKills = 2
	// publishPause limits the number of deliveries, five for each publish, to what one machine can
	// receive in a minute.
	publishPause = 25 * time.Millisecond
)

// published are the messages of each group, in order. Safe for concurrent use.
type published struct {
	*account
	mu     sync.Mutex
	groups map[string][]string
}

// next returns the body of the next message of a group.
func (p *published) next(group string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := ledger.Body(group, len(p.groups[group]))
	p.groups[group] = append(p.groups[group], body)
	return body
}

// bySNS publishes through the SDK until ctx ends. It repeats a publish with its deduplication id
// until it is acknowledged.
func (p *published) bySNS(ctx context.Context, t *testing.T, sdk *persistent, topicARN string, publisher int) {
	for n := 0; ctx.Err() == nil; n++ {
		group := fmt.Sprintf("sns%d-g%d", publisher, n%groupsOfSender)
		body := p.next(group)
		in := &sns.PublishInput{
			TopicArn: &topicARN, Message: &body, MessageGroupId: &group,
			MessageDeduplicationId: aws.String(strings.ReplaceAll(body, ":", ".")),
		}
		var tried time.Time
		out, err := persist(context.WithoutCancel(ctx), sdk.sns.Publish, in, func(at time.Time) { tried = at })
		if err != nil {
			t.Errorf("publish %s: %v", body, err)
			return
		}
		p.Acknowledged(body, aws.ToString(out.MessageId), tried)
		pauseFor(ctx, publishPause)
	}
}

// byStream publishes over a stream until ctx ends, without waiting for an answer before the next
// message.
func (p *published) byStream(ctx context.Context, t *testing.T, c *client.Client, topic string, number int) {
	type begun struct {
		body  string
		tried time.Time
		*client.Published
	}
	pending := make(chan begun, 1000)
	var acknowledged sync.WaitGroup
	acknowledged.Go(func() {
		for one := range pending {
			result, err := one.Wait(t.Context())
			if err != nil {
				t.Errorf("publish %s: %v", one.body, err)
				continue
			}
			p.Acknowledged(one.body, result.GetMessageId(), one.tried)
		}
	})
	publisher := c.NewPublisher(t.Context(), topic)
	for n := 0; ctx.Err() == nil; n++ {
		group := fmt.Sprintf("grpc%d-g%d", number, n%groupsOfSender)
		body := p.next(group)
		sent, err := publisher.Send(t.Context(), &client.TopicMessage{Message: body, GroupId: &group})
		if err != nil {
			t.Errorf("publish %s: %v", body, err)
			break
		}
		pending <- begun{body, time.Now(), sent}
		pauseFor(ctx, publishPause)
	}
	publisher.Close()
	close(pending)
	acknowledged.Wait()
}

func pauseFor(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// emptied receives and deletes all messages of a queue, and returns the bodies of each group in
// order of arrival.
func emptied(ctx context.Context, t *testing.T, p *persistent, queue string) map[string][]string {
	got := map[string][]string{}
	for n, empty := 0, 0; empty < 2; n++ {
		out, err := persist(ctx, p.sqs.ReceiveMessage, receiveInput(queue, fmt.Sprint("drain-", n), 10), nil)
		if err != nil {
			t.Errorf("receive from %s: %v", queue, err)
			return got
		}
		if empty++; len(out.Messages) > 0 {
			empty = 0
		}
		for _, m := range ledger.FromSQS(out.Messages) {
			got[m.Group] = append(got[m.Group], m.Body)
		}
		if err := p.remove(ctx, queue, out.Messages); err != nil {
			t.Error(err)
			return got
		}
	}
	return got
}

// dialNodes returns a client of the native API for all nodes.
func dialNodes(t *testing.T, c *harness.Cluster) *client.Client {
	t.Helper()
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.Client)
	}
	native, err := client.Dial(client.Options{RetryFor: giveUpAfter}, addresses...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := native.Close(); err != nil {
			t.Error(err)
		}
	})
	return native
}

// TestFanOutUnderLeaderKills publishes to a topic with five queues, over SNS and over gRPC, while
// the leader is killed again and again. Each queue must get each message once, in the order of its
// group.
func TestFanOutUnderLeaderKills(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	arn, queues := p.topicOf(t, "fan", subscribers)
	all := &published{account: newAccount(), groups: map[string][]string{}}
	native := dialNodes(t, c)
	publishing, stop := context.WithCancel(t.Context())
	defer stop()
	var done sync.WaitGroup
	for i := range publishers {
		done.Go(func() { all.bySNS(publishing, t, newPersistent(c, c.Rotate()), arn, i) })
		done.Go(func() { all.byStream(publishing, t, native, "fan.fifo", i) })
	}
	n := fanOutKills
	if os.Getenv("SERIATIM_KILLS") != "" {
		n = kills(t)
	}
	gaps := failLeaders(t, c, all.account, n, kill, start)
	stop()
	done.Wait()

	held := make([]map[string][]string, len(queues))
	var drained sync.WaitGroup
	for i, queue := range queues {
		drained.Go(func() { held[i] = emptied(t.Context(), t, newPersistent(c, c.Rotate()), queue) })
	}
	drained.Wait()
	total := 0
	for _, group := range slices.Sorted(maps.Keys(all.groups)) {
		want := all.groups[group]
		total += len(want)
		for i := range queues {
			if got := held[i][group]; !slices.Equal(got, want) {
				t.Errorf("queue %d has %d messages of group %s, want these %d once each and in order: %v", i, len(got), group, len(want),
					got)
			}
		}
	}
	for i, queue := range queues {
		if len(held[i]) != len(all.groups) {
			t.Errorf("queue %d has %d groups, want %d", i, len(held[i]), len(all.groups))
		}
		if got, want := p.counts(t, queue), [3]string{"0", "0", "0"}; got != want {
			t.Errorf("after the drain queue %d counts %v", i, got)
		}
	}
	agree(t, c)
	slices.Sort(gaps)
	t.Logf("%d messages published to %d queues while the leader was killed %d times, 0 lost; write gap: median %v, worst %v",
		total, subscribers, n, gaps[len(gaps)/2], gaps[len(gaps)-1])
}
