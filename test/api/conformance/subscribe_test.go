package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

func TestSubscribeEndpoints(t *testing.T) {
	const queueARN = "Invalid parameter: SQS endpoint ARN"
	onTopics(t, func(t *testing.T, c *client) {
		fifo, standard := c.fifoTopic(t, nil), c.stdTopic(t, nil)
		absent := "arn:aws:sqs:" + harness.Region + ":" + account + ":" + unique(t)
		for _, test := range []struct{ name, topic, protocol, endpoint, text string }{
			{"fifo queue on a standard topic", standard, "sqs", arn(c.fifo(t, nil)),
				"Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics"},
			{"standard queue on a FIFO topic", fifo, "sqs", arn(c.std(t, nil)), ""},
			{"queue URL", fifo, "sqs", c.std(t, nil), queueARN},
			{"queue name", fifo, "sqs", "queue", queueARN},
			{"ARN of something else", fifo, "sqs", standard, queueARN},
			{"no endpoint", fifo, "sqs", "", queueARN},
			{"queue that does not exist", fifo, "sqs", absent, ""},
			{"fifo queue that does not exist", fifo, "sqs", absent + ".fifo", ""},
			{"known protocol", fifo, "email", "a@example.org", "Invalid parameter: Invalid protocol type: email"},
			{"web protocol on a FIFO topic", fifo, "https", "https://example.org/", "Invalid parameter: Invalid protocol type: https"},
			{"unknown protocol", fifo, "pigeon", "loft", "Invalid parameter: Amazon SNS does not support this protocol string: pigeon"},
			{"no protocol", fifo, "", "x", "Invalid parameter: Protocol Reason: no value for required parameter"},
		} {
			t.Run(test.name, func(t *testing.T) {
				out, got := c.trySubscribe(t, test.topic, test.protocol, test.endpoint, nil)
				if test.text != "" {
					refused(t, got, invalid, test.text)
					return
				}
				if got != nil {
					t.Fatal(got)
				}
				subscription := aws.ToString(out.SubscriptionArn)
				id := subscription[len(test.topic)+1:]
				if subscription != test.topic+":"+id || !uuidForm.MatchString(id) {
					t.Errorf("ARN %s", subscription)
				}
				if endpoint := c.subscriptionAttributes(t, subscription)["Endpoint"]; endpoint != test.endpoint {
					t.Errorf("endpoint %s", endpoint)
				}
			})
		}
	})
}

func TestSubscribeAgain(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		subscription := c.subscribe(t, topic, queue, raw)
		t.Run("equal", func(t *testing.T) {
			for _, attributes := range []attrs{nil, raw, {"RawMessageDelivery": "TRUE"}} {
				if again := c.subscribe(t, topic, queue, attributes); again != subscription {
					t.Errorf("with %v: %s, was %s", attributes, again, subscription)
				}
			}
		})
		t.Run("another value", func(t *testing.T) {
			for _, attributes := range []attrs{{"RawMessageDelivery": "false"}, {"FilterPolicy": `{"k":["a"]}`}} {
				_, got := c.trySubscribe(t, topic, "sqs", arn(queue), attributes)
				refused(t, got, invalid, "Invalid parameter: Attributes Reason: Subscription already exists with different attributes")
			}
		})
	})
}

func TestSubscribeAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		want := attrs{
			"TopicArn": topic, "Endpoint": arn(queue), "Protocol": "sqs", "Owner": account, "PendingConfirmation": "false",
			"ConfirmationWasAuthenticated": "true", "RawMessageDelivery": "false",
			"SubscriptionPrincipal": "arn:aws:iam::" + account + ":root",
		}
		subscription := c.subscribe(t, topic, queue, nil)
		want["SubscriptionArn"] = subscription
		if diff := cmp.Diff(want, c.subscriptionAttributes(t, subscription)); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		const begin = "Invalid parameter: Attributes Reason: "
		for _, test := range []struct{ name, value, text string }{
			{"RawMessageDelivery", "maybe", "RawMessageDelivery: Invalid value [maybe]. Must be true or false."},
			{"FilterPolicyScope", "Body", "FilterPolicyScope: Invalid value [Body]. Please use either MessageBody or MessageAttributes"},
			{"RedrivePolicy", `{"deadLetterTargetArn":"x"}`, "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
			{"ReplayStatus", "Pending", "AttributeName"},
			{"Foo", "1", "AttributeName"},
		} {
			_, got := c.trySubscribe(t, topic, "sqs", arn(c.fifo(t, nil)), attrs{test.name: test.value})
			refused(t, got, invalid, begin+test.text)
		}
	})
}

// TestSubscribeRedrivePolicy: only a FIFO queue keeps the order of a FIFO subscription.
func TestSubscribeRedrivePolicy(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, fifo, standard := c.fifoTopic(t, nil), c.fifo(t, nil), c.std(t, nil)
		policy := func(target string) string { return fmt.Sprintf(`{"deadLetterTargetArn":"%s"}`, arn(target)) }
		t.Run("standard target of a FIFO subscription", func(t *testing.T) {
			const text = "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."
			_, got := c.trySubscribe(t, topic, "sqs", arn(fifo), attrs{"RedrivePolicy": policy(standard)})
			refused(t, got, invalid, "Invalid parameter: Attributes Reason: "+text)
			subscription := c.subscribe(t, topic, fifo, nil)
			refused(t, c.trySetSubscription(t, subscription, "RedrivePolicy", policy(standard)), invalid, "Invalid parameter: "+text)
			c.setSubscription(t, subscription, "RedrivePolicy", policy(c.fifo(t, nil)))
		})
		t.Run("standard target of a standard subscription", func(t *testing.T) {
			subscription := c.subscribe(t, topic, standard, attrs{"RedrivePolicy": policy(c.std(t, nil))})
			if got := c.subscriptionAttributes(t, subscription)["RedrivePolicy"]; got == "" {
				t.Error("no RedrivePolicy")
			}
		})
	})
}

func TestSubscribeLimit(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		endpoint := "arn:aws:sqs:" + harness.Region + ":" + account + ":" + unique(t)
		for i := range 2000 {
			if _, got := c.trySubscribe(t, topic, "sqs", fmt.Sprint(endpoint, i), nil); got != nil {
				t.Fatal(got)
			}
		}
		_, got := c.trySubscribe(t, topic, "sqs", endpoint, nil)
		refused(t, got, "SubscriptionLimitExceeded", "A topic can have 2000 subscriptions.")
	})
}
