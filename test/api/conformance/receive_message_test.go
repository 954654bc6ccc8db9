package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestReceiveMessageRefusals(t *testing.T) {
	const ten = "Must be between 1 and 10, if provided."
	cases := []struct {
		member string
		value  int
		reason string
	}{
		{"MaxNumberOfMessages", 11, ten},
		{"MaxNumberOfMessages", 0, ten},
		{"WaitTimeSeconds", 21, "Must be >= 0 and <= 20, if provided."},
		{"WaitTimeSeconds", -1, "Must be >= 0 and <= 20, if provided."},
		{"VisibilityTimeout", 43201, "Must be >= 0 and <= 43200, if provided."},
		{"VisibilityTimeout", -1, "Must be >= 0 and <= 43200, if provided."},
	}
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, test := range cases {
			t.Run(fmt.Sprint(test.member, " ", test.value), func(t *testing.T) {
				_, got := call(t, c.sqs.ReceiveMessage, receiveInput(queue), members{test.member: test.value})
				refused(t, got, "InvalidParameterValue",
					fmt.Sprintf("Value %d for parameter %s is invalid. Reason: %s", test.value, test.member, test.reason))
			})
		}
		_, got := c.tryReceive(t, queue, system("Foobar"))
		refused(t, got, "InvalidAttributeName", "Unknown Attribute Foobar.")
		_, got = c.tryReceive(t, c.missing(t))
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}

func TestReceiveMessageLongPollDoesNotFill(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.sendBatch(t, queue, entry("a", "1"), entry("b", "2"))
		start := time.Now()
		if got := c.receive(t, queue, atMost(3), wait(20)); len(got) == 0 {
			t.Error("received nothing")
		}
		if !before(t, start, 20*time.Second) {
			t.Error("a long poll waited to fill its answer")
		}
	})
}

// TestReceiveMessageLongPollWakes: the message arrives while the poll waits, at
// the same or another node.
func TestReceiveMessageLongPollWakes(t *testing.T) {
	cases := []struct {
		name       string
		attributes attrs
		options    []receiving
	}{
		{"by request", nil, []receiving{wait(20)}},
		{"by queue", attrs{"ReceiveMessageWaitTimeSeconds": "20"}, nil},
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				queue := c.std(t, test.attributes)
				got := make(chan []string, 1) // one answer, never blocks its sender
				start := time.Now()
				go func() {
					defer close(got)
					got <- bodies(c.receive(t, queue, test.options...))
				}()
				c.pass(t, 1)
				c.send(t, queue, "m")
				if diff := cmp.Diff([]string{"m"}, <-got); diff != "" && before(t, start, 20*time.Second) {
					t.Errorf("received (-want +got):\n%s", diff)
				}
			})
		}
	})
}

func TestReceiveMessageZeroWaitOverridesQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"ReceiveMessageWaitTimeSeconds": "20"})
		start := time.Now()
		c.empty(t, queue)
		if !before(t, start, 15*time.Second) {
			t.Error("WaitTimeSeconds=0 waited")
		}
	})
}

func TestReceiveMessageWithoutNames(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("d"), text("k", "String", "x"))
		m := c.one(t, queue)
		if m.Attributes != nil || m.MessageAttributes != nil || m.MD5OfMessageAttributes != nil {
			t.Errorf("attributes %v %v, digest %q", m.Attributes, m.MessageAttributes, aws.ToString(m.MD5OfMessageAttributes))
		}
	})
}

func TestReceiveMessageSystemAttributes(t *testing.T) {
	names := func(m types.Message) []string {
		var out []string
		for name := range m.Attributes {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	standard := []string{"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"}
	each(t, func(t *testing.T, c *client) {
		t.Run("standard", func(t *testing.T) {
			queue := c.std(t, nil)
			c.send(t, queue, "m")
			m := c.one(t, queue, system("All"))
			if diff := cmp.Diff(standard, names(m)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			for _, name := range []string{"ApproximateFirstReceiveTimestamp", "SentTimestamp"} {
				if value := m.Attributes[name]; len(value) != 13 || !isInteger(value) {
					t.Errorf("%s is %q, want milliseconds", name, value)
				}
			}
		})
		t.Run("fifo", func(t *testing.T) {
			queue := c.fifo(t, nil)
			sent := c.send(t, queue, "m", group("g"), dedup("d"), trace(traced))
			m := c.one(t, queue, system("All"))
			want := append([]string{"AWSTraceHeader", "MessageDeduplicationId", "MessageGroupId", "SequenceNumber"}, standard...)
			slices.Sort(want)
			if diff := cmp.Diff(want, names(m)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			values := []string{m.Attributes["MessageGroupId"], m.Attributes["MessageDeduplicationId"], m.Attributes["SequenceNumber"]}
			if diff := cmp.Diff([]string{"g", "d", aws.ToString(sent.SequenceNumber)}, values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
		t.Run("only SenderId", func(t *testing.T) {
			queue := c.std(t, nil)
			c.send(t, queue, "m")
			if diff := cmp.Diff([]string{"SenderId"}, names(c.one(t, queue, system("SenderId")))); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	})
}

func TestReceiveMessageBothNameLists(t *testing.T) {
	t.Parallel()
	_, queue := jsonQueue(t)
	postJSON(t, "SendMessage", object{"QueueUrl": queue, "MessageBody": "m"}).ok(t)
	got := postJSON(t, "ReceiveMessage", object{
		"QueueUrl": queue, "WaitTimeSeconds": 20, "AttributeNames": []string{"All"}, "MessageSystemAttributeNames": []string{"SenderId"},
	}).ok(t).object(t)
	list, _ := got["Messages"].([]any)
	if len(list) != 1 {
		t.Fatalf("answer %v", got)
	}
	if attributes, _ := list[0].(object)["Attributes"].(object); len(attributes) != 4 {
		t.Errorf("attributes %v, want the union of both lists", attributes)
	}
}

func TestReceiveMessageCountsDeliveries(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		for _, queue := range []string{c.std(t, attrs{"VisibilityTimeout": "0"}), c.fifo(t, attrs{"VisibilityTimeout": "0"})} {
			if strings.HasSuffix(queue, ".fifo") {
				c.send(t, queue, "m", group("g"), dedup("d"))
			} else {
				c.send(t, queue, "m")
			}
			first, second := c.one(t, queue, system("All")), c.one(t, queue, system("All"))
			counts := []string{first.Attributes["ApproximateReceiveCount"], second.Attributes["ApproximateReceiveCount"]}
			if diff := cmp.Diff([]string{"1", "2"}, counts); diff != "" {
				t.Errorf("receive counts (-want +got):\n%s", diff)
			}
			if *first.ReceiptHandle == *second.ReceiptHandle {
				t.Error("two deliveries have one receipt handle")
			}
			if first.Attributes["SequenceNumber"] != second.Attributes["SequenceNumber"] {
				t.Error("the sequence number changed")
			}
			if first.Attributes["ApproximateFirstReceiveTimestamp"] != second.Attributes["ApproximateFirstReceiveTimestamp"] {
				t.Error("the time of the first receive changed")
			}
		}
	})
}

func TestReceiveMessageAttributeFilter(t *testing.T) {
	cases := []struct {
		name   string
		filter []string
		want   []string
		digest string
	}{
		{"All", []string{"All"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
		{"star", []string{"*"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
		{"dot star", []string{".*"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
		{"exact", []string{"Foo", "Hello"}, []string{"Hello"}, "a311262e065454b75da111d535b8dacd"},
		{"prefix", []string{"Hel.*"}, []string{"Hello", "Help.Me"}, "83fee93c1bcd8b9a5a923ffacdc636c7"},
		{"two names", []string{"General", "Hello"}, []string{"General", "Hello"}, "fca026605781cb4126a1e9044df24232"},
		{"no match", []string{"Foo", "Help"}, nil, ""},
		{"impossible names", []string{"AWS.", "..foo", "hello"}, nil, ""},
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				queue := c.std(t, nil)
				c.send(t, queue, "m", text("General", "String", "Kenobi"), text("Hello", "String", "There"),
					text("Help.Me", "String", "Me"))
				m := c.one(t, queue, user(test.filter...))
				var got []string
				for name := range m.MessageAttributes {
					got = append(got, name)
				}
				slices.Sort(got)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("names (-want +got):\n%s", diff)
				}
				if digest := aws.ToString(m.MD5OfMessageAttributes); digest != test.digest {
					t.Errorf("digest %q, want %q", digest, test.digest)
				}
			})
		}
	})
}

func TestReceiveMessageVisibilityTimeout(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m")
		start := time.Now()
		first := c.one(t, queue, hidden(3))
		got := c.receive(t, queue, wait(0))
		if before(t, start, 3*time.Second) && len(got) != 0 {
			t.Fatalf("received %q while it is in flight", bodies(got))
		}
		if len(got) == 0 {
			// The long poll ends with the visibility timeout.
			if second := c.one(t, queue); *second.ReceiptHandle == *first.ReceiptHandle || *second.MessageId != *first.MessageId {
				t.Errorf("the second delivery is %q, the first was %q", *second.ReceiptHandle, *first.ReceiptHandle)
			}
		}
	})
}

func TestReceiveMessageRetention(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		std := c.std(t, attrs{"MessageRetentionPeriod": "60"})
		fifo := c.fifo(t, attrs{"MessageRetentionPeriod": "60"})
		c.send(t, std, "m")
		c.send(t, std, "in flight")
		held := c.receive(t, std, hidden(43200))
		c.send(t, fifo, "m", group("g"), dedup("d"))
		c.pass(t, 64)
		c.empty(t, std)
		c.empty(t, fifo)
		c.counts(t, std, 0, 0, 0)
		c.counts(t, fifo, 0, 0, 0)
		// A handle of an expired message acts like that of a deleted one.
		c.delete(t, std, held...)
	})
}

// TestReceiveMessageOneMessageForTwoPolls: two polls and one message.
func TestReceiveMessageOneMessageForTwoPolls(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		answers := make(chan []string, 2) // one answer of each poll
		for range 2 {
			go func() {
				var got []string
				defer func() { answers <- got }()
				got = bodies(c.receive(t, queue, wait(6), atMost(10)))
			}()
		}
		c.pass(t, 1)
		c.send(t, queue, "m", group("new"), dedup("d"))
		if got := append(<-answers, <-answers...); len(got) != 1 {
			t.Errorf("received %q, want the message once", got)
		}
	})
}

func TestReceiveMessageAttemptIDOnStandard(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.sendBatch(t, queue, entry("a", "1"), entry("b", "2"))
		first, second := c.one(t, queue, attempt("A")), c.one(t, queue, attempt("A"))
		if *first.MessageId == *second.MessageId {
			t.Error("the attempt id of a receive on a standard queue is not ignored")
		}
	})
}

func receiveInput(queue string) *sqs.ReceiveMessageInput {
	return &sqs.ReceiveMessageInput{QueueUrl: &queue}
}
