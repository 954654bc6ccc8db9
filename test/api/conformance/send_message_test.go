package conformance

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// Texts of errors that several tests expect.
const (
	idRule              = " can only include alphanumeric and punctuation characters. 1 to 128 in length."
	notForThisQueueType = "The request include parameter that is not valid for this queue type."
	noDeduplicationText = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
)

func badID(parameter, value string) string {
	return "Value " + value + " for parameter " + parameter + " is invalid. Reason: " + parameter + idRule
}

func TestSendMessageDigests(t *testing.T) {
	traceparent := append([]byte("traceparent"), 0x1e)
	traceparent = append(traceparent, "00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01"...)
	cases := []struct {
		name, body      string
		options         []sending
		bodyDigest      string
		attributeDigest string
		systemDigest    string
	}{
		{name: "no attributes", body: "message", bodyDigest: "78e731027d8fd50ed642340b7c9a63b3"},
		{name: "two-byte letter", body: "é", bodyDigest: "66ddcd97cfdeabb2f6fb8a999b4bc76f"},
		{name: "string", body: "test", options: []sending{text("k", "String", "x")}, bodyDigest: "098f6bcd4621d373cade4e832627b4f6",
			attributeDigest: "a45daa70926828a2f0a1db3418e6feb4"},
		{name: "number", body: "foobar", options: []sending{text("timestamp", "Number", "1493147359900")},
			bodyDigest: "3858f62230ac3c915f300c664312c63f", attributeDigest: "235c5c510d26fb653d073faed50ae77c"},
		{name: "custom number", body: "test", options: []sending{text("UserId", "Number.bigint", "1234567890123456789012")},
			bodyDigest: "098f6bcd4621d373cade4e832627b4f6", attributeDigest: "797ab158d73dcb5242dedc4412c8e855"},
		{name: "binary", body: "test", options: []sending{binary("attr1", "Binary", traceparent)},
			bodyDigest: "098f6bcd4621d373cade4e832627b4f6", attributeDigest: "8cbe4db156db8a94db8b801b7addb984"},
		{name: "all kinds", body: "test",
			options:    []sending{text("a", "Number", "42"), text("ab", "String.custom", "é"), binary("b", "Binary", []byte{0, 1, 2, 255})},
			bodyDigest: "098f6bcd4621d373cade4e832627b4f6", attributeDigest: "3ab4d672aa34e0b7a1acbbde10af9b3a"},
		{name: "trace header", body: "test", options: []sending{trace(traced)}, bodyDigest: "098f6bcd4621d373cade4e832627b4f6",
			systemDigest: tracedDigest},
		{name: "trace header and string", body: "test", options: []sending{trace(traced), text("k", "String", "x")},
			bodyDigest: "098f6bcd4621d373cade4e832627b4f6", attributeDigest: "a45daa70926828a2f0a1db3418e6feb4",
			systemDigest: tracedDigest},
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				queue := c.std(t, nil)
				sent := c.send(t, queue, test.body, test.options...)
				got := []string{aws.ToString(sent.MD5OfMessageBody), aws.ToString(sent.MD5OfMessageAttributes),
					aws.ToString(sent.MD5OfMessageSystemAttributes)}
				if diff := cmp.Diff([]string{test.bodyDigest, test.attributeDigest, test.systemDigest}, got); diff != "" {
					t.Errorf("digests of the send (-want +got):\n%s", diff)
				}
				if test.attributeDigest == "" && sent.MD5OfMessageAttributes != nil {
					t.Error("an attribute digest without attributes")
				}
				if test.systemDigest == "" && sent.MD5OfMessageSystemAttributes != nil {
					t.Error("a system attribute digest without system attributes")
				}
				m := c.one(t, queue, everything)
				if aws.ToString(m.MD5OfBody) != test.bodyDigest || aws.ToString(m.MD5OfMessageAttributes) != test.attributeDigest {
					t.Errorf("received digests %q and %q", aws.ToString(m.MD5OfBody), aws.ToString(m.MD5OfMessageAttributes))
				}
				if value, found := m.MessageAttributes["attr1"]; found && string(value.BinaryValue) != string(traceparent) {
					t.Errorf("binary value %q", value.BinaryValue)
				}
			})
		}
	})
}

func TestSendMessageTraceHeaderOfTheRequest(t *testing.T) {
	t.Parallel()
	c, queue := jsonQueue(t)
	header := jsonHeader("SendMessage")
	header["X-Amzn-Trace-Id"] = traced
	rawRequest{header: header, body: `{"QueueUrl":"` + queue + `","MessageBody":"m"}`}.do(t).ok(t)
	if got := c.one(t, queue, everything).Attributes["AWSTraceHeader"]; got != traced {
		t.Errorf("AWSTraceHeader %q", got)
	}
}

func tooLong(limit int) string {
	return fmt.Sprintf("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", limit)
}

func TestSendMessageSize(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"MaximumMessageSize": "1024"})
		c.send(t, queue, strings.Repeat("a", 1024))
		c.send(t, queue, strings.Repeat("a", 1016), text("k", "String", "x"))
		c.send(t, queue, strings.Repeat("é", 512))
		// A system attribute does not count for the size.
		c.send(t, queue, strings.Repeat("a", 1024), trace(traced))
		for name, options := range map[string][]sending{
			strings.Repeat("a", 1025):       nil,
			strings.Repeat("a", 1017):       {text("k", "String", "x")},
			strings.Repeat("é", 512) + "a":  nil,
			strings.Repeat("a", 1017) + "b": {binary("k", "Binary", []byte{1})},
		} {
			_, got := c.trySend(t, queue, name, options...)
			refused(t, got, "InvalidParameterValue", tooLong(1024))
		}
	})
}

func TestSendMessageCharacters(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, bad := range []string{"\x00", "a\x08b", "\uffff", "\ufffe", "\x1f"} {
			_, got := c.trySend(t, queue, bad)
			refused(t, got, "InvalidMessageContents", "")
		}
		for _, good := range []string{"\t\n\r", "\ud7ff\ue000\ufffd", "\U00010000\U0010ffff", "\x7f"} {
			if _, got := c.trySend(t, queue, good); got != nil {
				t.Errorf("%q refused: %v", good, got)
			}
		}
		_, got := c.trySend(t, queue, "m", text("k", "String", "a\x08b"))
		refused(t, got, "InvalidParameterValue", "")
	})
}

func TestSendMessageEmptyBody(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		const want = "The request must contain the parameter MessageBody."
		_, got := c.trySend(t, queue, "")
		refused(t, got, "MissingParameter", want)
		_, got = call(t, c.sqs.SendMessage, &sqs.SendMessageInput{QueueUrl: &queue}, nil)
		refused(t, got, "MissingParameter", want)
	})
}

func TestSendMessageBadAttributes(t *testing.T) {
	cases := []struct {
		name, attribute, dataType, value, message string
	}{
		{"empty value", "ErrorDetails", "String", "",
			"Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'."},
		{"reserved aws", "aWs.x", "String", "v", ""},
		{"reserved amazon", "AMAZON.x", "String", "v", ""},
		{"leading dot", ".x", "String", "v", ""},
		{"trailing dot", "x.", "String", "v", ""},
		{"two dots", "a..b", "String", "v", ""},
		{"exclamation mark", "a!b", "String", "v", ""},
		{"parenthesis", "a(b", "String", "v", ""},
		{"question mark", "a?b", "String", "v", ""},
		{"name of 257", strings.Repeat("n", 257), "String", "v", ""},
		{"type Invalid", "k", "Invalid", "v", ""},
		{"type in lower case", "k", "string", "v", ""},
		{"type too long", "k", "Number." + strings.Repeat("n", 256), "1", ""},
		{"empty type", "k", "", "v", ""},
	}
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.trySend(t, queue, "m", text(test.attribute, test.dataType, test.value))
				refused(t, got, "InvalidParameterValue", test.message)
			})
		}
		c.counts(t, queue, 0, 0, 0)
	})
}

func TestSendMessageGoodAttributes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "m", text("long", "Number.java.lang.Long", "7"), text("A-b_c.9", "String", "v"),
			text(strings.Repeat("n", 256), "String", "v"))
		got := c.one(t, queue, everything)
		if kind := aws.ToString(got.MessageAttributes["long"].DataType); kind != "Number.java.lang.Long" {
			t.Errorf("type %q", kind)
		}
		if len(got.MessageAttributes) != 3 {
			t.Errorf("%d attributes came back, want 3", len(got.MessageAttributes))
		}
	})
}

func TestSendMessageElevenAttributes(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		var options []sending
		for i := range 10 {
			options = append(options, text(fmt.Sprintf("k%d", i), "String", "v"))
		}
		c.send(t, queue, "m", options...)
		_, got := c.trySend(t, queue, "m", append(options, text("k10", "String", "v"))...)
		refused(t, got, "InvalidParameterValue", "Number of message attributes [11] exceeds the allowed maximum [10].")
	})
}

func TestSendMessageUnknownSystemAttribute(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, got := c.trySend(t, c.std(t, nil), "m", func(in *sqs.SendMessageInput) {
			in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"Other": {DataType: aws.String("String"), StringValue: aws.String("v")},
			}
		})
		refused(t, got, "InvalidParameterValue", "")
	})
}

func TestSendMessageDelay(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.send(t, queue, "late", delay(900))
		c.counts(t, queue, 0, 0, 1)
		for _, bad := range []int32{901, -1} {
			_, got := c.trySend(t, queue, "m", delay(bad))
			refused(t, got, "InvalidParameterValue",
				fmt.Sprintf("Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", bad))
		}
		// A long poll ends when the delay is over.
		start := time.Now()
		c.send(t, queue, "soon", delay(3))
		if got := c.receive(t, queue, wait(0)); before(t, start, 3*time.Second) && len(got) != 0 {
			t.Errorf("received %q within its delay", bodies(got))
		}
		c.expect(t, queue, "soon")
	})
}

func TestSendMessageDelayOverridesQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"DelaySeconds": "900"})
		_, got := call(t, c.sqs.SendMessage, &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String("now")},
			members{"DelaySeconds": 0})
		if got != nil {
			t.Fatalf("refused: %v", got)
		}
		c.send(t, queue, "later")
		c.expect(t, queue, "now")
		c.counts(t, queue, 0, 1, 1)
	})
}

func TestSendMessageDeduplicationIDOnStandard(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, got := c.trySend(t, c.std(t, nil), "m", dedup("d"))
		refused(t, got, "InvalidParameterValue", "Value d for parameter MessageDeduplicationId is invalid. Reason: "+notForThisQueueType)
	})
}

func TestSendMessageGroupOnStandard(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		if sent := c.send(t, queue, "m", group("test")); sent.SequenceNumber != nil {
			t.Errorf("sequence number %q", *sent.SequenceNumber)
		}
		c.send(t, queue, "n")
		got := c.expectSet(t, queue, "m", "n")
		again := c.std(t, nil)
		c.send(t, again, "m", group("test"))
		if id := c.one(t, again, everything).Attributes["MessageGroupId"]; id != "test" {
			t.Errorf("MessageGroupId %q", id)
		}
		c.delete(t, queue, got...)
	})
}

func TestSendMessageBadGroupID(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		std, fifo := c.std(t, nil), c.fifo(t, nil)
		for _, bad := range []string{strings.Repeat("g", 129), "group 123", "é"} {
			_, got := c.trySend(t, std, "m", group(bad))
			refused(t, got, "InvalidParameterValue", badID("MessageGroupId", bad))
			_, got = c.trySend(t, fifo, "m", group(bad), dedup("d"))
			refused(t, got, "InvalidParameterValue", badID("MessageGroupId", bad))
		}
		c.send(t, std, "m", group(strings.Repeat("g", 128)))
	})
}

func TestSendMessageDeduplicationIDForm(t *testing.T) {
	const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup(strings.Repeat("a", 128)))
		c.send(t, queue, "m", group(punctuation), dedup(punctuation))
		for _, bad := range []string{strings.Repeat("a", 129), "", "group 123", "é", "a\tb"} {
			_, got := c.trySend(t, queue, "m", group("g"), dedup(bad))
			refused(t, got, "InvalidParameterValue", badID("MessageDeduplicationId", bad))
		}
		c.counts(t, queue, 2, 0, 0)
	})
}

func TestSendMessageFIFOWithoutGroup(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		_, got := c.trySend(t, c.fifo(t, nil), "m", dedup("d"))
		refused(t, got, "MissingParameter", "The request must contain the parameter MessageGroupId.")
	})
}

func TestSendMessageFIFOWithoutDeduplicationID(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		_, got := c.trySend(t, queue, "m", group("g"))
		refused(t, got, "InvalidParameterValue", noDeduplicationText)
		c.counts(t, queue, 0, 0, 0)
	})
}

func TestSendMessageFIFODelay(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		_, got := c.trySend(t, queue, "m", group("g"), dedup("d"), delay(2))
		refused(t, got, "InvalidParameterValue", "Value 2 for parameter DelaySeconds is invalid. Reason: "+notForThisQueueType)
		in := &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String("m"), MessageGroupId: aws.String("g"),
			MessageDeduplicationId: aws.String("d")}
		if _, got := call(t, c.sqs.SendMessage, in, members{"DelaySeconds": 0}); got != nil {
			t.Fatalf("refused: %v", got)
		}
		if got := bodies(c.receive(t, queue, wait(0))); len(got) != 1 {
			t.Errorf("received %q, want the message at once", got)
		}
	})
}

func TestSendMessageFIFOQueueDelay(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"DelaySeconds": "3"})
		start := time.Now()
		// One batch, so that all messages become due together.
		c.sendBatch(t, queue, entry("a", "1", group("g"), dedup("1")), entry("b", "2", group("g"), dedup("2")),
			entry("c", "3", group("g"), dedup("3")))
		got := c.receive(t, queue, wait(1), atMost(3))
		if before(t, start, 3*time.Second) {
			if len(got) != 0 {
				t.Errorf("received %q within the delay", bodies(got))
			}
			c.expect(t, queue, "1", "2", "3")
		}
	})
}

func TestSendMessageSequenceNumbers(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		last := new(big.Int)
		for i := range 3 {
			sent := c.send(t, queue, "m", group(fmt.Sprint("g", i%2)), dedup(fmt.Sprint(i)))
			text := aws.ToString(sent.SequenceNumber)
			number, ok := new(big.Int).SetString(text, 10)
			if !ok || len(text) != 20 || text[0] == '0' {
				t.Fatalf("sequence number %q", text)
			}
			if number.Cmp(last) <= 0 {
				t.Errorf("sequence number %s after %s", number, last)
			}
			last = number
		}
		if sent := c.send(t, c.std(t, nil), "m"); sent.SequenceNumber != nil {
			t.Errorf("a standard queue gave sequence number %q", *sent.SequenceNumber)
		}
	})
}

func TestSendMessageIDIsUUID(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		if id := aws.ToString(c.send(t, c.std(t, nil), "m").MessageId); !uuidForm.MatchString(id) {
			t.Errorf("MessageId %q", id)
		}
	})
}
