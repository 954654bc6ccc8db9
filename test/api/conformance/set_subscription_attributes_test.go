package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestSetSubscriptionAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		subscription := c.subscribe(t, topic, c.fifo(t, nil), nil)
		for _, test := range []struct{ name, value, read string }{
			{"RawMessageDelivery", "True", "true"},
			{"RawMessageDelivery", "false", "false"},
			{"FilterPolicy", `{"k":["a"]}`, `{"k":["a"]}`},
			{"FilterPolicyScope", "MessageBody", "MessageBody"},
		} {
			c.setSubscription(t, subscription, test.name, test.value)
			if got := c.subscriptionAttributes(t, subscription)[test.name]; got != test.read {
				t.Errorf("%s is %q, want %q", test.name, got, test.read)
			}
		}
		t.Run("policy removed", func(t *testing.T) {
			c.setSubscription(t, subscription, "FilterPolicy", "{}")
			got := c.subscriptionAttributes(t, subscription)
			if policy, listed := got["FilterPolicy"]; listed && policy != "{}" {
				t.Errorf("attributes %v", got)
			}
		})
		t.Run("bad raw delivery", func(t *testing.T) {
			refused(t, c.trySetSubscription(t, subscription, "RawMessageDelivery", "maybe"), invalid,
				"Invalid parameter: RawMessageDelivery: Invalid value [maybe]. Must be true or false.")
		})
		for _, test := range []struct{ name, value, text string }{
			{"FilterPolicyScope", "x", "FilterPolicyScope: Invalid value [x]. Please use either MessageBody or MessageAttributes"},
			{"RedrivePolicy", "x", "RedrivePolicy: failed to parse JSON."},
			{"Endpoint", "x", "AttributeName"},
			{"ReplayPolicy", `{"PointType":"x","StartingPoint":"2023-10-01T10:00:00.000Z"}`, "ReplayPolicy: PointType value is invalid"},
		} {
			refused(t, c.trySetSubscription(t, subscription, test.name, test.value), invalid, "Invalid parameter: "+test.text)
		}
		_, got := call(t, c.sns.SetSubscriptionAttributes, &sns.SetSubscriptionAttributesInput{SubscriptionArn: &subscription}, nil)
		refused(t, got, invalid, "Invalid parameter: AttributeName Reason: no value for required parameter")
	})
}
