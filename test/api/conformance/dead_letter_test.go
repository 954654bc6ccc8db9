package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

func TestDeadLetterStandard(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		source := c.std(t, attrs{"RedrivePolicy": redrive(target, 1), "VisibilityTimeout": "0"})
		c.send(t, source, "m", text("k", "String", "x"), trace(traced))
		first := c.one(t, source, everything)
		c.empty(t, source)
		moved := c.one(t, target, everything)
		if *moved.MessageId != *first.MessageId || *moved.Body != "m" ||
			aws.ToString(moved.MD5OfMessageAttributes) != "a45daa70926828a2f0a1db3418e6feb4" {
			t.Errorf("moved message %+v", moved)
		}
		got := attrs{}
		for _, name := range []string{"ApproximateReceiveCount", "AWSTraceHeader", "DeadLetterQueueSourceArn", "SentTimestamp"} {
			got[name] = moved.Attributes[name]
		}
		// The receive that moved it does not count. In a standard queue it keeps the time of the
		// send.
		want := attrs{"ApproximateReceiveCount": "2", "AWSTraceHeader": traced, "DeadLetterQueueSourceArn": arn(source),
			"SentTimestamp": first.Attributes["SentTimestamp"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		c.counts(t, source, 0, 0, 0)
	})
}

func TestDeadLetterFIFO(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.fifo(t, contentBased)
		source := c.fifo(t, attrs{"ContentBasedDeduplication": "true", "RedrivePolicy": redrive(target, 2), "VisibilityTimeout": "0"})
		sent := c.send(t, source, "m1", group("g"))
		c.send(t, source, "m2", group("g"))
		c.one(t, source, atMost(1))
		c.one(t, source, atMost(1))
		// The third receive moves the first message and returns the next one of the group.
		if diff := cmp.Diff([]string{"m2"}, bodies(c.receive(t, source, atMost(1)))); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
		moved := c.one(t, target, everything)
		if *moved.MessageId != *sent.MessageId || *moved.Body != "m1" || moved.Attributes["MessageGroupId"] != "g" {
			t.Errorf("moved message %+v", moved)
		}
		if id := moved.Attributes["MessageDeduplicationId"]; id != *sent.MessageId {
			t.Errorf("MessageDeduplicationId %q, want the message id", id)
		}
	})
}

func TestDeadLetterPolicyRefusals(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		std, fifo := c.std(t, nil), c.fifo(t, nil)
		policy := func(target, count string) string {
			return fmt.Sprintf(`{"deadLetterTargetArn":"%s","maxReceiveCount":%s}`, arn(target), count)
		}
		const typeDiffers = "Dead-letter queue must be same type of queue as the source.."
		cases := []struct{ name, queue, value, reason string }{
			{"missing target", std, policy(c.missing(t), "3"), "Dead letter target does not exist."},
			{"fifo with standard target", fifo, policy(std, "3"), typeDiffers},
			{"standard with fifo target", std, policy(fifo, "3"), typeDiffers},
			{"count 0", std, policy(std, "0"), "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive."},
			{"count 1001", std, policy(std, "1001"),
				"Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive."},
			{"count abc", std, policy(std, `"abc"`), ""},
			{"no count", std, `{"deadLetterTargetArn":"` + arn(std) + `"}`, ""},
			{"no target", std, `{"maxReceiveCount":3}`, ""},
			{"no JSON", std, `nonsense`, ""},
		}
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				want := ""
				if test.reason != "" {
					want = "Value " + test.value + " for parameter RedrivePolicy is invalid. Reason: " + test.reason
				}
				refused(t, c.trySet(t, test.queue, attrs{"RedrivePolicy": test.value}), "InvalidParameterValue", want)
				name, attributes := unique(t), attrs{"RedrivePolicy": test.value}
				if strings.HasSuffix(test.queue, ".fifo") {
					name, attributes["FifoQueue"] = name+".fifo", "true"
				}
				_, got := c.tryCreate(t, name, attributes)
				refused(t, got, "InvalidParameterValue", want)
			})
		}
	})
}

func TestDeadLetterCountAsText(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		target := c.std(t, nil)
		queue := c.std(t, attrs{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn(target) + `","maxReceiveCount":"42"}`})
		if got := c.attributes(t, queue, "RedrivePolicy")["RedrivePolicy"]; !strings.Contains(got, `"maxReceiveCount":42`) {
			t.Errorf("RedrivePolicy reads %s", got)
		}
	})
}

func TestDeadLetterRedriveAllowPolicy(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		deny := c.std(t, attrs{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`})
		source := c.std(t, nil)
		refused(t, c.trySet(t, source, attrs{"RedrivePolicy": redrive(deny, 3)}), "InvalidParameterValue", "")
		only := c.std(t, attrs{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["` + arn(source) + `"]}`})
		c.set(t, source, attrs{"RedrivePolicy": redrive(only, 3)})
		refused(t, c.trySet(t, c.std(t, nil), attrs{"RedrivePolicy": redrive(only, 3)}), "InvalidParameterValue", "")
	})
}
