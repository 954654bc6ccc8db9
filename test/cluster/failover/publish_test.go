package failover

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// topicOf creates a FIFO topic with subscribed FIFO queues.
func (p *persistent) topicOf(t *testing.T, name string, queues int) (topic string, urls []string) {
	t.Helper()
	created, err := persist(t.Context(), p.sns.CreateTopic, &sns.CreateTopicInput{
		Name: aws.String(name + ".fifo"),
		// The window is long enough for a slow machine.
		Attributes: map[string]string{"FifoTopic": "true", "DeduplicationWindowSeconds": "604800"},
	}, nil)
	harness.Must(t, err)
	topic = aws.ToString(created.TopicArn)
	for i := range queues {
		url := p.create(t, fmt.Sprint(name, "-", i, ".fifo"),
			map[string]string{"DeduplicationWindowSeconds": "604800", "VisibilityTimeout": "43200"})
		_, err := persist(t.Context(), p.sns.Subscribe, &sns.SubscribeInput{
			TopicArn: &topic, Protocol: aws.String("sqs"),
			Endpoint:   aws.String("arn:aws:sqs:" + harness.Region + ":000000000000:" + url[strings.LastIndex(url, "/")+1:]),
			Attributes: map[string]string{"RawMessageDelivery": "true"},
		}, nil)
		harness.Must(t, err)
		urls = append(urls, url)
	}
	return topic, urls
}

func (p *persistent) publish(ctx context.Context, topic, group, id string) (*sns.PublishOutput, error) {
	in := &sns.PublishInput{TopicArn: &topic, Message: &id, MessageGroupId: &group, MessageDeduplicationId: &id}
	return persist(ctx, p.sns.Publish, in, nil)
}

// TestPublishSurvivesTheLeader publishes, kills the leader, and repeats the publish at every other
// node. It must get the same answer and deliver nothing.
func TestPublishSurvivesTheLeader(t *testing.T) {
	c := cluster(t)
	topic, queues := newPersistent(c, c.Rotate()).topicOf(t, "published", 1)
	victim := leader(t, c)
	first, err := newPersistent(c, harness.Only(victim)).publish(t.Context(), topic, "g", "once")
	harness.Must(t, err)
	kill(t, victim)
	for _, n := range c.Followers(victim) {
		again, err := newPersistent(c, harness.Only(n)).publish(t.Context(), topic, "g", "once")
		harness.Must(t, err)
		if aws.ToString(again.MessageId) != aws.ToString(first.MessageId) ||
			aws.ToString(again.SequenceNumber) != aws.ToString(first.SequenceNumber) {
			t.Errorf("%s: message %s number %s, was %s number %s", n.Name, *again.MessageId, *again.SequenceNumber, *first.MessageId,
				*first.SequenceNumber)
		}
	}
	start(t, victim)
	agree(t, c)
	if got, want := newPersistent(c, c.Rotate()).counts(t, queues[0]), [3]string{"1", "0", "0"}; got != want {
		t.Errorf("the queue counts %v, want %v", got, want)
	}
}

// TestReplaySurvivesTheLeader kills leaders during a replay while messages are published. The queue
// must get every message once, in order.
func TestReplaySurvivesTheLeader(t *testing.T) {
	const archived, kills = 60, 3 // archived: batches of ten messages
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	topic, queues := p.topicOf(t, "archived", 1)
	first, err := persist(t.Context(), p.sns.ListSubscriptionsByTopic, &sns.ListSubscriptionsByTopicInput{TopicArn: &topic}, nil)
	harness.Must(t, err)
	_, err = persist(t.Context(), p.sns.Unsubscribe, &sns.UnsubscribeInput{SubscriptionArn: first.Subscriptions[0].SubscriptionArn}, nil)
	harness.Must(t, err)
	_, err = persist(t.Context(), p.sns.SetTopicAttributes, &sns.SetTopicAttributesInput{
		TopicArn: &topic, AttributeName: aws.String("ArchivePolicy"), AttributeValue: aws.String(`{"MessageRetentionPeriod":"1"}`),
	}, nil)
	harness.Must(t, err)
	var want []string
	ten := func() {
		in := &sns.PublishBatchInput{TopicArn: &topic}
		for range 10 {
			id := aws.String(fmt.Sprint(len(want)))
			want = append(want, *id)
			in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, types.PublishBatchRequestEntry{
				Id: id, Message: id, MessageGroupId: aws.String("g"), MessageDeduplicationId: id,
			})
		}
		harness.Must(t, harness.Err(persist(t.Context(), p.sns.PublishBatch, in, nil)))
	}
	for range archived {
		ten()
	}
	subscribed, err := persist(t.Context(), p.sns.Subscribe, &sns.SubscribeInput{
		TopicArn: &topic, Protocol: aws.String("sqs"), Endpoint: first.Subscriptions[0].Endpoint, ReturnSubscriptionArn: true,
		Attributes: map[string]string{
			"RawMessageDelivery": "true", "ReplayPolicy": `{"PointType":"Timestamp","StartingPoint":"2001-01-01T00:00:00.000Z"}`,
		},
	}, nil)
	harness.Must(t, err)
	for range kills {
		victim := leader(t, c)
		kill(t, victim)
		ten()
		start(t, victim)
		agree(t, c)
	}
	await := time.Now().Add(giveUpAfter)
	for status := ""; status != "Completed"; {
		in := &sns.GetSubscriptionAttributesInput{SubscriptionArn: subscribed.SubscriptionArn}
		got, err := persist(t.Context(), p.sns.GetSubscriptionAttributes, in, nil)
		harness.Must(t, err)
		if status = got.Attributes["ReplayStatus"]; status == "Failed" || time.Now().After(await) {
			t.Fatalf("the replay is %q", status)
		}
	}
	ten()
	var got []string
	for round := 0; len(got) < len(want); round++ {
		messages := p.receive(t, queues[0], fmt.Sprint("round-", round), 10)
		if len(messages) == 0 {
			break
		}
		for _, m := range messages {
			got = append(got, aws.ToString(m.Body))
		}
		harness.Must(t, p.remove(t.Context(), queues[0], messages))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-published +received):\n%s", diff)
	}
	if got, want := p.counts(t, queues[0]), [3]string{"0", "0", "0"}; got != want {
		t.Errorf("the queue counts %v, want %v", got, want)
	}
}

// TestPublishFansOutOnce kills leaders one after the other while publishers repeat unanswered
// publishes. Every queue must get every message once, in the order of its group.
func TestPublishFansOutOnce(t *testing.T) {
	const kills, queuesOfTheTopic, groups = 10, 5, 3
	c := cluster(t)
	topic, queues := newPersistent(c, c.Rotate()).topicOf(t, "fan", queuesOfTheTopic)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := make([][]string, groups) // by group, in order
	progress := make(chan struct{})       // a receive lets publishers continue before the next kill
	var publishers sync.WaitGroup
	for g := range groups {
		publishers.Go(func() {
			p := newPersistent(c, c.Rotate())
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", g, i)
				// Finish the current publish, because without an answer its outcome is unknown.
				if _, err := p.publish(context.WithoutCancel(ctx), topic, fmt.Sprint(g), id); err != nil {
					t.Errorf("publish %s: %v", id, err)
					return
				}
				published[g] = append(published[g], id)
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	for range kills {
		victim := leader(t, c)
		kill(t, victim)
		leader(t, c.Part(c.Followers(victim)...))
		start(t, victim)
		for range 2 * groups {
			select {
			case <-progress:
			case <-time.After(giveUpAfter):
				t.Fatal("nothing is published any more")
			}
		}
	}
	stop()
	publishers.Wait()
	agree(t, c)
	t.Logf("published by group: %d, %d, %d", len(published[0]), len(published[1]), len(published[2]))
	for _, queue := range queues {
		got := make([][]string, groups)
		p := newPersistent(c, c.Rotate())
		for round := 0; ; round++ {
			messages := p.receive(t, queue, fmt.Sprint("round-", round), 10)
			if len(messages) == 0 {
				break
			}
			for _, m := range messages {
				var g, i int
				if _, err := fmt.Sscanf(aws.ToString(m.Body), "%d-%d", &g, &i); err != nil {
					t.Fatalf("received %q", aws.ToString(m.Body))
				}
				got[g] = append(got[g], aws.ToString(m.Body))
			}
			harness.Must(t, p.remove(t.Context(), queue, messages))
		}
		if diff := cmp.Diff(published, got); diff != "" {
			t.Errorf("%s (-published +received):\n%s", queue, diff)
		}
	}
}
