package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"
)

var timestampForm = regexp.MustCompile(`"Timestamp":"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z)"`)

// numbered returns a FIFO queue whose next sequence number differs from that of a new topic.
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
		if e.MessageAttributes["n"].Value != "99.12" || e.MessageAttributes["b"].Value != "AAH/" ||
			e.MessageAttributes["b"].Type != "Binary" {
			t.Errorf("attributes %v", e.MessageAttributes)
		}
		if strings.Contains(body, "Sign") {
			t.Errorf("a FIFO topic signs: %s", body)
		}
		if aws.ToString(got.MessageId) == id || got.Attributes["SequenceNumber"] == number || len(got.MessageAttributes) != 0 {
			t.Errorf("the message has the id %s, the number %s and the attributes %v", *got.MessageId, got.Attributes["SequenceNumber"],
				got.MessageAttributes)
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
		topic, queue, other := c.fifoTopic(t, attrs{"DeduplicationWindowSeconds": "60"}), c.fifo(t, nil),
			c.fifo(t, attrs{"DeduplicationEnabled": "false"})
		c.subscribe(t, topic, queue, raw)
		c.subscribe(t, topic, other, raw)
		t.Run("within the window", func(t *testing.T) {
			start := time.Now()
			first := c.publish(t, topic, "one", toGroup("g"), withID("x"))
			again := c.publish(t, topic, "other", toGroup("g"), withID("x"))
			if !before(t, start, 50*time.Second) {
				return
			}
			if diff := cmp.Diff([]*string{first.MessageId, first.SequenceNumber},
				[]*string{again.MessageId, again.SequenceNumber}); diff != "" {
				t.Errorf("answer to the duplicate (-first +second):\n%s", diff)
			}
			c.delete(t, queue, c.expect(t, queue, "one")...)
			c.expect(t, other, "one")
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

func TestPublishGroups(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		queues := []string{c.fifo(t, nil), c.fifo(t, nil)}
		for _, queue := range queues {
			c.subscribe(t, topic, queue, raw)
		}
		for i := range 8 {
			c.publish(t, topic, fmt.Sprint(i), toGroup(fmt.Sprint("g", i%2)), withID(fmt.Sprint(i)))
		}
		for _, queue := range queues {
			got := map[string][]string{}
			for _, m := range c.receive(t, queue, wait(20), atMost(10), system("All")) {
				of := m.Attributes["MessageGroupId"]
				got[of] = append(got[of], aws.ToString(m.Body))
			}
			if diff := cmp.Diff(map[string][]string{"g0": {"0", "2", "4", "6"}, "g1": {"1", "3", "5", "7"}}, got); diff != "" {
				t.Errorf("received (-want +got):\n%s", diff)
			}
		}
	})
}

// TestPublishScope checks the scopes of a topic. In the second case the queue has the same scope,
// because it deduplicates as well.
func TestPublishScope(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		t.Run("topic", func(t *testing.T) {
			topic, queue := c.fifoTopic(t, nil), c.fifo(t, attrs{"DeduplicationEnabled": "false"})
			c.subscribe(t, topic, queue, raw)
			c.publish(t, topic, "first", toGroup("g1"), withID("x"))
			c.publish(t, topic, "second", toGroup("g2"), withID("x"))
			c.expect(t, queue, "first")
		})
		t.Run("message group", func(t *testing.T) {
			topic := c.fifoTopic(t, attrs{"FifoThroughputScope": "MessageGroup"})
			queue, dropping := c.fifo(t, attrs{"DeduplicationScope": "messageGroup"}), c.fifo(t, nil)
			c.subscribe(t, topic, queue, raw)
			c.subscribe(t, topic, dropping, raw)
			c.publish(t, topic, "first", toGroup("g1"), withID("x"))
			c.publish(t, topic, "second", toGroup("g2"), withID("x"))
			c.publish(t, topic, "third", toGroup("g1"), withID("x"))
			c.expectSet(t, queue, "first", "second")
			c.expect(t, dropping, "first")
		})
	})
}

// TestPublishWindowEnds uses a short window where AWS has five minutes.
func TestPublishWindowEnds(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, attrs{"DeduplicationWindowSeconds": "1"})
		queue := c.fifo(t, attrs{"DeduplicationWindowSeconds": "1"})
		c.subscribe(t, topic, queue, raw)
		first := c.publish(t, topic, "first", toGroup("g"), withID("x"))
		c.pass(t, 2)
		if again := c.publish(t, topic, "second", toGroup("g"),
			withID("x")); aws.ToString(again.MessageId) == aws.ToString(first.MessageId) {
			t.Error("after the window it is a duplicate")
		}
		c.expect(t, queue, "first", "second")
	})
}

// TestPublishIDCharacters checks that ids may have 1 to 128 characters, each a printable ASCII
// character other than a blank, and that consumers read them unchanged.
func TestPublishIDCharacters(t *testing.T) {
	var all []byte
	for b := byte(0x21); b <= 0x7E; b++ {
		all = append(all, b)
	}
	longest := string(all) + strings.Repeat("x", 128-len(all))
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		for _, id := range []string{longest, "x"} {
			c.publish(t, topic, "m", toGroup(id), withID(id))
			got := c.one(t, queue, system("All"))
			if got.Attributes["MessageDeduplicationId"] != id || got.Attributes["MessageGroupId"] != id {
				t.Errorf("attributes %v, want the id %q", got.Attributes, id)
			}
			c.delete(t, queue, got)
		}
	})
}

// TestPublishQueueDrops checks that a queue deduplicates by its own rules what comes from topics
// and sends.
func TestPublishQueueDrops(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		for i := range 2 {
			topic := c.fifoTopic(t, nil)
			c.subscribe(t, topic, queue, raw)
			c.publish(t, topic, fmt.Sprint("topic ", i), toGroup("g"), withID("x"))
		}
		c.send(t, queue, "sent", group("g"), dedup("x"))
		c.expect(t, queue, "topic 0")
	})
}

func TestPublishStandardSubscriber(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.std(t, nil)
		c.subscribe(t, topic, queue, raw)
		c.publish(t, topic, "m", toGroup("g"), withID("x"))
		c.publish(t, topic, "again", toGroup("g"), withID("x"))
		got := c.expect(t, queue, "m")[0]
		for _, name := range []string{"MessageGroupId", "MessageDeduplicationId", "SequenceNumber"} {
			if value, has := got.Attributes[name]; has {
				t.Errorf("%s is %s", name, value)
			}
		}
	})
}

func TestPublishDeadLetters(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, gone, lost, dead, fine := c.fifoTopic(t, nil), c.fifo(t, nil), c.fifo(t, nil), c.fifo(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, gone, attrs{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"%s"}`, arn(dead)),
			"RawMessageDelivery": "true"})
		c.subscribe(t, topic, lost, raw)
		c.subscribe(t, topic, fine, raw)
		c.deleteQueue(t, gone)
		c.deleteQueue(t, lost)
		t.Run("with a dead-letter queue", func(t *testing.T) {
			c.publish(t, topic, "m", toGroup("g"), withID("x"), topicText("k", "String", "v"))
			got := c.one(t, dead, system("All"), user("All"))
			if aws.ToString(got.Body) != "m" || got.Attributes["MessageGroupId"] != "g" ||
				got.Attributes["MessageDeduplicationId"] != "x" ||
				aws.ToString(got.MessageAttributes["k"].StringValue) != "v" {
				t.Errorf("%q with %v and %v", aws.ToString(got.Body), got.Attributes, got.MessageAttributes)
			}
		})
		t.Run("without", func(t *testing.T) {
			c.publish(t, topic, "n", toGroup("g"), withID("y"))
			again := c.create(t, queueName(lost), attrs{"FifoQueue": "true"})
			c.empty(t, again)
			c.expect(t, fine, "m", "n")
			c.publish(t, topic, "o", toGroup("g"), withID("z"))
			c.expect(t, again, "o")
		})
	})
}

// TestPublishElevenAttributes checks that raw delivery of more than the ten attributes that a queue
// accepts fails.
func TestPublishElevenAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, plain, enveloped := c.fifoTopic(t, nil), c.fifo(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, plain, raw)
		c.subscribe(t, topic, enveloped, nil)
		options := []publishing{toGroup("g"), withID("x")}
		for i := range 11 {
			options = append(options, topicText(fmt.Sprint("a", i), "String", "v"))
		}
		c.publish(t, topic, "m", options...)
		if got := envelopeOf(t, c.one(t, enveloped)); len(got.MessageAttributes) != 11 {
			t.Errorf("envelope %+v", got)
		}
		c.empty(t, plain)
	})
}

func TestPublishRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		fifo, content, standard := c.fifoTopic(t, nil), c.fifoTopic(t, attrs{"ContentBasedDeduplication": "true"}), c.stdTopic(t, nil)
		const bad = "ParameterValueInvalid"
		toBoth := func(in *sns.PublishInput) {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String("g"), aws.String("d")
		}
		for _, test := range []struct {
			name, topic, message string
			options              []publishing
			code, text           string
		}{
			{"fifo without group", fifo, "m", []publishing{withID("x")}, invalid,
				"The MessageGroupId parameter is required for FIFO topics"},
			{"fifo with content deduplication without group", content, "m", nil, invalid,
				"The MessageGroupId parameter is required for FIFO topics"},
			{"fifo without deduplication id", fifo, "m", []publishing{toGroup("g")}, invalid,
				"The topic should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"},
			{"standard with deduplication id", standard, "m", []publishing{withID("x")}, invalid,
				"MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid " +
					"for this topic type"},
			{"empty message", standard, "", nil, invalid, "Empty message"},
			{"empty subject", standard, "m", []publishing{subject("")}, invalid, "Subject"},
			{"subject of 100", standard, "m", []publishing{subject(strings.Repeat("s", 100))}, invalid, "Subject"},
			{"subject of two lines", standard, "m", []publishing{subject("a\nb")}, invalid, "Subject"},
			{"too long", standard, strings.Repeat("m", 262_145), nil, invalid, "Message too long"},
			{"too long with attributes", standard, strings.Repeat("m", 262_134), []publishing{topicText("n", "String", "val")}, "", ""},
			{"too long by one", standard, strings.Repeat("m", 262_134), []publishing{topicText("n", "String", "valu")}, invalid,
				"Message too long"},
			{"id of 129", fifo, "m", []publishing{toGroup("g"), withID(strings.Repeat("i", 129))}, invalid,
				"MessageDeduplicationId Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length"},
			{"id with a blank", fifo, "m", []publishing{toGroup("g"), withID("a b")}, invalid,
				"MessageDeduplicationId Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length"},
			{"group with a letter beyond ASCII", fifo, "m", []publishing{toGroup("é"), withID("x")}, invalid,
				"MessageGroupId Reason: can only include alphanumeric and punctuation characters. 1 to 128 in length"},
			{"structure that is no JSON", fifo, "{", []publishing{toBoth, structured}, invalid,
				"Message Structure - JSON message body failed to parse"},
			{"structure without default", fifo, `{"sqs":"m"}`, []publishing{toBoth, structured}, invalid,
				"Message Structure - No default entry in JSON message body"},
			{"structure with another default", fifo, `{"default":1}`, []publishing{toBoth, structured}, invalid,
				"Message Structure - No default entry in JSON message body"},
			{"group before structure", fifo, "{", []publishing{structured}, invalid,
				"The MessageGroupId parameter is required for FIFO topics"},
			{"unknown structure", fifo, "m", []publishing{toBoth, func(in *sns.PublishInput) { in.MessageStructure = aws.String("xml") }},
				invalid, "MessageStructure"},
			{"phone number", standard, "m", []publishing{func(in *sns.PublishInput) { in.PhoneNumber = aws.String("+1") }}, invalid,
				"PhoneNumber Reason: there are no phone numbers here, publish to a TopicArn"},

			{"attribute without value", standard, "m", []publishing{topicText("x", "String", "")}, bad,
				"The message attribute 'x' must contain non-empty message attribute value for message attribute type 'String'."},
			{"attribute type", standard, "m", []publishing{topicText("x", "Text", "v")}, bad,
				"The message attribute 'x' has an invalid message attribute type, the set of supported type prefixes is " +
					"Binary, Number, and String."},
			{"binary in the wrong field", standard, "m", []publishing{topicText("x", "Binary", "v")}, bad,
				"The message attribute 'x' with type 'Binary' must use field 'Binary'."},
			{"string in the wrong field", standard, "m", []publishing{topicBinary("x", "String", []byte("v"))}, bad,
				"The message attribute 'x' with type 'String' must use field 'String'."},
			{"number", standard, "m", []publishing{topicText("x", "Number", "v")}, bad,
				"Could not cast message attribute 'x' value to number."},
			{"name of 257", standard, "m", []publishing{topicText(strings.Repeat("x", 257), "String", "v")}, bad,
				"Length of message attribute name must be less than 256 bytes."},
			{"name that begins with a dot", standard, "m", []publishing{topicText(".x", "String", "v")}, bad,
				"Invalid message attribute name starting with character '.' was found."},
			{"name that ends with a dot", standard, "m", []publishing{topicText("x.", "String", "v")}, bad,
				"Invalid message attribute name ending with character '.' was found."},
			{"name with two dots", standard, "m", []publishing{topicText("x..y", "String", "v")}, bad,
				"Message attribute name can not have successive '.' character."},
			{"name with a sign", standard, "m", []publishing{topicText("x^y", "String", "v")}, bad,
				"Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include " +
					"alphanumeric characters, hyphens, underscores, or dots."},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.tryPublish(t, test.topic, test.message, test.options...)
				switch {
				case test.code == "" && got != nil:
					t.Error(got)
				case test.code == invalid:
					refused(t, got, test.code, "Invalid parameter: "+test.text)
				case test.code != "":
					refused(t, got, test.code, test.text)
				}
			})
		}
	})
}

// TestPublishStructure checks that queues get the text for their protocol, and that this text is
// the one that is hashed.
func TestPublishStructure(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, attrs{"ContentBasedDeduplication": "true"}), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		c.publish(t, topic, `{"default":"for all","sqs":"for queues","http":7}`, toGroup("g"), structured)
		c.publish(t, topic, "for queues", toGroup("g"))
		c.publish(t, topic, `{"default":"for all"}`, toGroup("g"), structured)
		c.expect(t, queue, "for queues", "for all")
	})
}

func TestPublishTargetARN(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.stdTopic(t, nil), c.std(t, nil)
		c.subscribe(t, topic, queue, raw)
		out := must[*sns.PublishOutput](t)(call(t, c.sns.Publish,
			&sns.PublishInput{TargetArn: &topic, Message: aws.String("m"), MessageGroupId: aws.String("g")}, nil))
		if out.SequenceNumber != nil || aws.ToString(out.MessageId) == "" {
			t.Errorf("answer %+v", out)
		}
		if got := c.one(t, queue, system("All")); got.Attributes["MessageGroupId"] != "g" {
			t.Errorf("attributes %v", got.Attributes)
		}
	})
}

// TestPublishWakesReceives checks that a waiting receive returns a published message.
func TestPublishWakesReceives(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		got := make(chan []string, 1) // one answer, never blocks its sender
		start := time.Now()
		go func() {
			defer close(got)
			got <- bodies(c.receive(t, queue, wait(20)))
		}()
		c.pass(t, 1)
		c.publish(t, topic, "m", toGroup("g"), withID("x"))
		if diff := cmp.Diff([]string{"m"}, <-got); diff != "" && before(t, start, 20*time.Second) {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}
