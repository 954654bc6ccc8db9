package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var archived = attrs{"ArchivePolicy": `{"MessageRetentionPeriod":"1"}`}

// replayFrom is a ReplayPolicy without an end.
func replayFrom(at string) attrs {
	return attrs{"ReplayPolicy": `{"PointType":"Timestamp","StartingPoint":"` + at + `"}`}
}

// awaitReplay waits until the replay of a subscription is over.
func (c *client) awaitReplay(t *testing.T, subscription string) (status string) {
	t.Helper()
	c.eventually(t, "the replay ends", func() bool {
		status = c.subscriptionAttributes(t, subscription)["ReplayStatus"]
		return status == "Completed" || status == "Failed"
	})
	return status
}

// TestReplay: archived messages come first, in order, then new ones.
func TestReplay(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, archived), c.fifo(t, nil)
		begin := c.topicAttributes(t, topic)["BeginningArchiveTime"]
		if _, err := time.Parse(time.RFC3339Nano, begin); err != nil {
			t.Errorf("the archive begins at %q", begin)
		}
		var want []string
		for i := range 7 {
			id := fmt.Sprint(i)
			want = append(want, id)
			c.publish(t, topic, id, toGroup("g"), withID(id))
		}
		c.publish(t, topic, "a duplicate", toGroup("g"), withID("0"))
		subscription := c.subscribe(t, topic, queue, attrs{"RawMessageDelivery": "true", "ReplayPolicy": replayFrom(begin)["ReplayPolicy"]})
		for i := 7; i < 9; i++ {
			id := fmt.Sprint(i)
			want = append(want, id)
			c.publish(t, topic, id, toGroup("g"), withID(id))
		}
		if status := c.awaitReplay(t, subscription); status != "Completed" {
			t.Errorf("the replay is %s", status)
		}
		c.publish(t, topic, "9", toGroup("g"), withID("9"))
		c.expect(t, queue, append(want, "9")...)
	})
}

// TestReplayedMessage checks that a replayed message equals the published one and is marked as
// replayed.
func TestReplayedMessage(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, archived), c.fifo(t, attrs{"VisibilityTimeout": "600"})
		begin := c.topicAttributes(t, topic)["BeginningArchiveTime"]
		subscription := c.subscribe(t, topic, queue, nil)
		published := c.publish(t, topic, "m", toGroup("g"), withID("id"), subject("s"))
		first := c.one(t, queue, everything)
		if envelopeOf(t, first).Replayed {
			t.Error("what is delivered at once says that it is replayed")
		}
		// The queue remembers the id, but gets the message again.
		c.setSubscription(t, subscription, "ReplayPolicy", replayFrom(begin)["ReplayPolicy"])
		c.awaitReplay(t, subscription)
		c.delete(t, queue, first)
		again := c.one(t, queue, everything)
		was, is := envelopeOf(t, first), envelopeOf(t, again)
		if is.MessageID != aws.ToString(published.MessageId) || is.Timestamp != was.Timestamp || is.SequenceNumber != was.SequenceNumber ||
			is.Message != "m" || is.Subject != was.Subject || !is.Replayed || again.Attributes["MessageDeduplicationId"] != "id" {
			t.Errorf("replayed %+v\nof %+v", is, was)
		}
		c.setSubscription(t, subscription, "RawMessageDelivery", "true")
		c.setSubscription(t, subscription, "ReplayPolicy", replayFrom(begin)["ReplayPolicy"])
		c.awaitReplay(t, subscription)
		c.delete(t, queue, again)
		plain := c.one(t, queue, everything)
		if flag := plain.MessageAttributes["Replayed"]; aws.ToString(plain.Body) != "m" || aws.ToString(flag.StringValue) != "true" {
			t.Errorf("replayed %+v", plain)
		}
	})
}

func TestReplayRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		policy := replayFrom("2023-10-01T10:00:00.000Z")
		const without = "Invalid parameter: ReplayPolicy Reason: The topic has no ArchivePolicy, so there is nothing to replay."
		_, got := c.trySubscribe(t, topic, "sqs", arn(c.fifo(t, nil)), policy)
		refused(t, got, invalid, without)
		subscription := c.subscribe(t, topic, c.fifo(t, nil), nil)
		refused(t, c.trySetSubscription(t, subscription, "ReplayPolicy", policy["ReplayPolicy"]), invalid, without)
		refused(t, c.trySetSubscription(t, subscription, "ReplayStatus", "Completed"), invalid, "Invalid parameter: AttributeName")
	})
}

// TestReplayPauses checks that after the end of a replay nothing is delivered until another replay
// begins there.
func TestReplayPauses(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, archived), c.fifo(t, nil)
		begin := c.topicAttributes(t, topic)["BeginningArchiveTime"]
		c.publish(t, topic, "one", toGroup("g"), withID("1"))
		at, err := time.Parse(time.RFC3339Nano, begin)
		harness.Must(t, err)
		end := at.Add(-time.Millisecond).Format(time.RFC3339Nano)
		subscription := c.subscribe(t, topic, queue, attrs{
			"RawMessageDelivery": "true",
			"ReplayPolicy":       `{"PointType":"Timestamp","StartingPoint":"` + end + `","EndingPoint":"` + end + `"}`,
		})
		c.awaitReplay(t, subscription)
		c.publish(t, topic, "two", toGroup("g"), withID("2"))
		c.counts(t, queue, 0, 0, 0)
		c.setSubscription(t, subscription, "ReplayPolicy", replayFrom(end)["ReplayPolicy"])
		c.awaitReplay(t, subscription)
		c.publish(t, topic, "three", toGroup("g"), withID("3"))
		c.expect(t, queue, "one", "two", "three")
	})
}
