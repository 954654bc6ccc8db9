package conformance

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/test/kit/harness"
	seriatim "github.com/seriatimq/seriatim/transport/grpc/client"
)

// busTopic creates a FIFO topic that reads the reserved attributes, and a queue with raw delivery.
func (c *client) busTopic(t *testing.T) (topic, queue string) {
	t.Helper()
	topic = c.fifoTopic(t, attrs{"CompatibilityProfile": "servicebus", "ReservedAttributesEnabled": "true",
		"DeduplicationScope": "partitionKey", "MessageGroupIdMode": "Optional"})
	queue = c.fifo(t, attrs{"DeduplicationScope": "partitionKey", "MessageGroupIdMode": "Optional"})
	c.subscribe(t, topic, queue, raw)
	return topic, queue
}

func publishAt(at time.Time) publishing {
	return topicText("seriatim.ScheduledEnqueueTime", "Number", strconv.FormatInt(at.UnixMilli(), 10))
}

func partition(key string) publishing { return topicText("seriatim.PartitionKey", "String", key) }

// samePublish checks that two answers are of one message.
func samePublish(t *testing.T, first, again *sns.PublishOutput) {
	t.Helper()
	if aws.ToString(first.MessageId) != aws.ToString(again.MessageId) ||
		aws.ToString(first.SequenceNumber) != aws.ToString(again.SequenceNumber) {
		t.Errorf("the first is %s %s, the second %s %s", *first.MessageId, *first.SequenceNumber, *again.MessageId, *again.SequenceNumber)
	}
}

func TestScheduledPublishes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		t.Run("due later", func(t *testing.T) {
			topic, queue := c.busTopic(t)
			start := time.Now()
			c.publish(t, topic, "m", toGroup("g"), withID("A"), publishAt(start.Add(4*time.Second)), topicText("color", "String", "red"))
			got := c.receive(t, queue, wait(0))
			if before(t, start, 3*time.Second) && len(got) != 0 {
				t.Errorf("received %q before it is due", bodies(got))
			}
			m := c.one(t, queue, everything)
			if aws.ToString(m.Body) != "m" || len(m.MessageAttributes) != 1 || m.MessageAttributes["color"].StringValue == nil {
				t.Errorf("received %q with the attributes %v", aws.ToString(m.Body), m.MessageAttributes)
			}
		})
		t.Run("as text and in the past", func(t *testing.T) {
			topic, queue := c.busTopic(t)
			at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			c.publish(t, topic, "late", withID("A"), topicText("seriatim.ScheduledEnqueueTime", "String", at))
			c.publish(t, topic, "past", withID("B"), publishAt(time.Now().Add(-time.Hour)))
			c.expect(t, queue, "past")
			if got := c.topicAttributes(t, topic)["ApproximateNumberOfMessagesScheduled"]; got != "1" {
				t.Errorf("%q messages are scheduled", got)
			}
		})
		t.Run("both directions", func(t *testing.T) {
			topic, queue := c.busTopic(t)
			later := publishAt(time.Now().Add(time.Hour))
			samePublish(t, c.publish(t, topic, "scheduled", withID("A"), later), c.publish(t, topic, "plain", withID("A")))
			samePublish(t, c.publish(t, topic, "plain", withID("B")), c.publish(t, topic, "scheduled", withID("B"), later))
			c.expect(t, queue, "plain")
		})
		t.Run("refused", func(t *testing.T) {
			topic, _ := c.busTopic(t)
			_, got := c.tryPublish(t, topic, "m", withID("A"), topicText("seriatim.ScheduledEnqueueTime", "String", "soon"))
			refused(t, got, "ParameterValueInvalid", "")
			_, got = c.tryPublish(t, topic, "m", withID("A"), topicText("seriatim.Other", "String", "x"))
			refused(t, got, "ParameterValueInvalid", "")
			_, got = c.tryPublish(t, topic, "m", toGroup("g"), withID("A"), partition("k"))
			refused(t, got, "ParameterValueInvalid", "")
		})
	})
}

func TestPartitionKeyOfTopics(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.busTopic(t)
		first := c.publish(t, topic, "1", withID("A"), partition("p"))
		c.publish(t, topic, "2", withID("A"), partition("q"))
		samePublish(t, first, c.publish(t, topic, "3", withID("A"), partition("p")))
		samePublish(t, first, c.publish(t, topic, "4", toGroup("p"), withID("A"), partition("p")))
		c.expect(t, queue, "1", "2")
	})
}

// TestTopicsAreOfSNSByDefault: an AWS client sees AWS, and lists no extension.
func TestTopicsAreOfSNSByDefault(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		c.publish(t, topic, "m", toGroup("g"), withID("A"), publishAt(time.Now().Add(time.Hour)))
		if m := c.one(t, queue, everything); len(m.MessageAttributes) != 1 {
			t.Errorf("attributes %v", m.MessageAttributes)
		}
		_, got := c.tryPublish(t, topic, "m", withID("B"))
		refused(t, got, "InvalidParameter", "Invalid parameter: The MessageGroupId parameter is required for FIFO topics")
		for name := range c.topicAttributes(t, topic) {
			switch name {
			case "CompatibilityProfile", "DeduplicationEnabled", "DeduplicationScope", "MaxDeduplicationEntries", "MessageGroupIdMode",
				"ReservedAttributesEnabled", "ApproximateNumberOfMessagesScheduled":
				t.Errorf("%s is listed", name)
			}
		}
	})
}

func TestServiceBusTopicAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, attrs{"CompatibilityProfile": "servicebus"})
		if got := c.topicAttributes(t, topic)["DeduplicationWindowSeconds"]; got != "600" {
			t.Errorf("the window is %q, want 600", got)
		}
		fixed := attrs{"DeduplicationEnabled": "false", "MessageGroupIdMode": "Optional", "CompatibilityProfile": "aws"}
		for name, value := range fixed { // in any order, as nothing changes
			refused(t, c.trySetTopic(t, topic, name, value), "InvalidParameter",
				"Invalid parameter: "+name+": Invalid value ["+value+"]. Cannot be changed after creation.")
		}
		_, got := c.tryCreateTopic(t, unique(t)+".fifo",
			attrs{"FifoTopic": "true", "DeduplicationScope": "queue", "FifoThroughputScope": "MessageGroup"})
		refused(t, got, "InvalidParameter", "Invalid parameter: Attributes Reason: FifoThroughputScope: Invalid value [MessageGroup]. "+
			"Contradicts DeduplicationScope=queue.")
		off, queue := c.fifoTopic(t, attrs{"DeduplicationEnabled": "false"}), c.fifo(t, attrs{"DeduplicationEnabled": "false"})
		c.subscribe(t, off, queue, raw)
		c.publish(t, off, "1", toGroup("g"), withID("A"))
		c.publish(t, off, "2", toGroup("g"), withID("A"))
		c.expect(t, queue, "1", "2")
		capped := c.fifoTopic(t, attrs{"MaxDeduplicationEntries": "1"})
		first := c.publish(t, capped, "m", toGroup("g"), withID("A"))
		_, got = c.tryPublish(t, capped, "m", toGroup("g"), withID("B"))
		refused(t, got, "Throttled", "")
		samePublish(t, first, c.publish(t, capped, "m", toGroup("g"), withID("A")))
	})
}

// TestNativeScheduledPublishes schedules over the native API, in calls to different nodes.
func TestNativeScheduledPublishes(t *testing.T) {
	n, queue := newNative(t), unique(t)+".fifo"
	topic := "topic-" + queue
	harness.Must(t, harness.Err(n.next().CreateQueue(t.Context(), queue, nil, nil)))
	harness.Must(t, harness.Err(n.next().CreateTopic(t.Context(), topic, nil, nil)))
	harness.Must(t, harness.Err(n.next().Subscribe(t.Context(), topic, queue, raw)))
	publish := func(id string, at time.Time) *seriatim.PublishResult {
		t.Helper()
		results, err := n.next().Publish(t.Context(), topic, &seriatim.TopicMessage{
			Message: id, GroupId: new("g"), DeduplicationId: &id, EnqueueAtMs: at.UnixMilli(),
		})
		harness.Must(t, err)
		return results[0]
	}
	later := time.Now().Add(time.Hour)
	cancelled := publish("A", later)
	if again := publish("A", time.Now()); !again.GetDuplicate() || !again.GetFirstIsScheduled() ||
		again.GetSequenceNumber() != cancelled.GetSequenceNumber() {
		t.Errorf("published again: %v, at first %v", again, cancelled)
	}
	listed, _, err := n.next().ScheduledPublishes(t.Context(), topic, 0, 0)
	if err != nil || len(listed) != 1 || listed[0].GetMessageId() != cancelled.GetMessageId() {
		t.Errorf("scheduled: %v, %v", listed, err)
	}
	harness.Check(t, n.next().CancelScheduledPublishes(t.Context(), topic, false, cancelled.GetSequenceNumber()))
	wantNative(t, n.next().CancelScheduledPublishes(t.Context(), topic, false, cancelled.GetSequenceNumber()), codes.NotFound,
		"MessageNotFound")
	if again := publish("A", later); !again.GetDuplicate() || again.GetFirstIsScheduled() {
		t.Errorf("the id of a cancelled message: %v", again)
	}
	due := publish("B", time.Now().Add(time.Second))
	wantTexts(t, n.left(t, queue, 20), "B")
	err = n.next().CancelScheduledPublishes(t.Context(), topic, true, due.GetSequenceNumber())
	wantNative(t, err, codes.NotFound, "MessageNotFound")
	if err == nil || !strings.Contains(err.Error(), strconv.FormatUint(due.GetSequenceNumber(), 10)) {
		t.Errorf("the error names another number: %v", err)
	}
}
