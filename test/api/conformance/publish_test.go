package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

var timestampForm = regexp.MustCompile(`"Timestamp":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z)"`)

// numbered is a FIFO queue whose next sequence number is not that of a new topic.
func (c *client) numbered(t *testing.T) string {
	t.Helper()
	queue := c.fifo(t, nil)
	c.send(t, queue, "first", group("g"), dedup("first"))
	c.delete(t, queue, c.one(t, queue))
	return queue
}

func TestPublishEnvelope(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.numbered(t)
		subscription := c.subscribe(t, topic, queue, nil)
		out := c.publish(t, topic, "a \"message\"", toGroup("g"), withID("d"), subject("about"),
			topicText("n", "Number", "99.12"), topicBinary("b", "Binary", []byte{0, 1, 255}))
		id, number := aws.ToString(out.MessageId), aws.ToString(out.SequenceNumber)
		if !uuidForm.MatchString(id) || number == "" {
			t.Errorf("id %q, sequence number %q", id, number)
		}
		got := c.one(t, queue, system("All"))
		body := aws.ToString(got.Body)
		at := timestampForm.FindStringSubmatch(body)
		if at == nil {
			t.Fatalf("no time in %s", body)
		}
		head := fmt.Sprintf(`{"Type":"Notification","MessageId":"%s","SequenceNumber":"%s","TopicArn":"%s","Subject":"about",`+
			`"Message":"a \"message\"","Timestamp":"%s","UnsubscribeURL":"%s/?Action=Unsubscribe&SubscriptionArn=%s","MessageAttributes":{`,
			id, number, topic, at[1], c.cluster.Endpoint(), subscription)
		if !strings.HasPrefix(body, head) {
			t.Errorf("body\n%s, want\n%s", body, head)
		}
		e := envelopeOf(t, got)
		if e.MessageAttributes["n"].Value != "99.12" || e.MessageAttributes["b"].Value != "AAH/" || e.MessageAttributes["b"].Type != "Binary" {
			t.Errorf("attributes %v", e.MessageAttributes)
		}
		if strings.Contains(body, "Sign") {
			t.Errorf("a FIFO topic signs: %s", body)
		}
		if aws.ToString(got.MessageId) == id || got.Attributes["SequenceNumber"] == number || len(got.MessageAttributes) != 0 {
			t.Errorf("the message has the id %s, the number %s and the attributes %v", *got.MessageId, got.Attributes["SequenceNumber"], got.MessageAttributes)
		}
		if got.Attributes["MessageGroupId"] != "g" || got.Attributes["MessageDeduplicationId"] != "d" {
			t.Errorf("system attributes %v", got.Attributes)
		}
	})
}

func TestPublishRaw(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.numbered(t)
		c.subscribe(t, topic, queue, raw)
		out := c.publish(t, topic, "plain", toGroup("g"), withID("d"), subject("not delivered"),
			topicText("n", "Number.int", "7"), topicBinary("b", "Binary", []byte("bytes")))
		got := c.one(t, queue, system("All"), user("All"))
		if aws.ToString(got.Body) != "plain" || got.Attributes["SequenceNumber"] == aws.ToString(out.SequenceNumber) {
			t.Errorf("body %q, number %q, that of the topic is %q", *got.Body, got.Attributes["SequenceNumber"], *out.SequenceNumber)
		}
		n, b := got.MessageAttributes["n"], got.MessageAttributes["b"]
		if len(got.MessageAttributes) != 2 || aws.ToString(n.DataType) != "Number.int" || aws.ToString(n.StringValue) != "7" ||
			aws.ToString(b.DataType) != "Binary" || string(b.BinaryValue) != "bytes" {
			t.Errorf("attributes %v", got.MessageAttributes)
		}
	})
}

func TestPublishDeduplication(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		t.Run("within the window", func(t *testing.T) {
			first := c.publish(t, topic, "one", toGroup("g"), withID("x"))
			again := c.publish(t, topic, "other", toGroup("g"), withID("x"))
			if diff := cmp.Diff([]*string{first.MessageId, first.SequenceNumber}, []*string{again.MessageId, again.SequenceNumber}); diff != "" {
				t.Errorf("answer to the duplicate (-first +second):\n%s", diff)
			}
			c.delete(t, queue, c.expect(t, queue, "one")...)
		})
		t.Run("after the message is gone", func(t *testing.T) {
			c.publish(t, topic, "third", toGroup("g"), withID("x"))
			c.empty(t, queue)
		})
	})
}

func TestPublishContentDeduplication(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, attrs{"ContentBasedDeduplication": "true"}), c.fifo(t, nil)
		c.subscribe(t, topic, queue, nil)
		t.Run("same body", func(t *testing.T) {
			c.publish(t, topic, "Test single", toGroup("g"))
			c.publish(t, topic, "Test single", toGroup("g"), topicText("not", "String", "hashed"), subject("neither"))
			sum := sha256.Sum256([]byte("Test single"))
			got := c.one(t, queue, system("All"))
			if id := got.Attributes["MessageDeduplicationId"]; id != hex.EncodeToString(sum[:]) {
				t.Errorf("deduplication id %q", id)
			}
			c.delete(t, queue, got)
			c.empty(t, queue)
		})
		t.Run("explicit id wins", func(t *testing.T) {
			c.publish(t, topic, "B", toGroup("g"), withID("X"))
			c.publish(t, topic, "B", toGroup("g"), withID("Y"))
			got := c.receive(t, queue, wait(20), atMost(10), system("All"))
			if len(got) != 2 || got[0].Attributes["MessageDeduplicationId"] != "X" || got[1].Attributes["MessageDeduplicationId"] != "Y" {
				t.Fatalf("received %v", got)
			}
			c.delete(t, queue, got...)
		})
		t.Run("explicit id that is a hash", func(t *testing.T) {
			sum := sha256.Sum256([]byte("Test"))
			c.publish(t, topic, "Test", toGroup("g"))
			c.publish(t, topic, "something else", toGroup("g"), withID(hex.EncodeToString(sum[:])))
			c.delete(t, queue, c.one(t, queue))
			c.empty(t, queue)
		})
	})
}

func TestPublishOrder(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		var queues []string
		for range 5 {
			queue := c.fifo(t, nil)
			c.subscribe(t, topic, queue, raw)
			queues = append(queues, queue)
		}
		var want []string
		before := ""
		for i := range 10 {
			want = append(want, strconv.Itoa(i))
			number := aws.ToString(c.publish(t, topic, strconv.Itoa(i), toGroup("g"), withID(strconv.Itoa(i))).SequenceNumber)
			if number <= before || len(number) != 20 {
				t.Errorf("sequence number %s after %s", number, before)
			}
			before = number
		}
		for _, queue := range queues {
			c.expect(t, queue, want...)
		}
	})
}
