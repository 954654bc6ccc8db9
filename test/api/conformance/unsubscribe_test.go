package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

func TestUnsubscribeTwice(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue, other := c.fifoTopic(t, nil), c.fifo(t, nil), c.fifo(t, nil)
		subscription := c.subscribe(t, topic, queue, raw)
		c.subscribe(t, topic, other, raw)
		c.publish(t, topic, "before", toGroup("g"), withID("1"))
		c.unsubscribe(t, subscription)
		c.unsubscribe(t, subscription)
		c.publish(t, topic, "after", toGroup("g"), withID("2"))
		c.expect(t, other, "before", "after")
		c.expect(t, queue, "before")
	})
}

func TestUnsubscribeRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		refused(t, c.tryUnsubscribe(t, "a:b:c"), invalid,
			"Invalid parameter: SubscriptionArn Reason: An ARN must have at least 6 elements, not 3")
		refused(t, c.tryUnsubscribe(t, topic), invalid, "Invalid parameter: SubscriptionId")
		_, got := call(t, c.sns.Unsubscribe, &sns.UnsubscribeInput{}, nil)
		refused(t, got, invalid, "Invalid parameter: SubscriptionArn Reason: no value for required parameter")
	})
}

// TestUnsubscribeByLink follows the link of a message, which has no version and signature.
func TestUnsubscribeByLink(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, nil)
		c.publish(t, topic, "m", toGroup("g"), withID("1"))
		link := envelopeOf(t, c.one(t, queue)).UnsubscribeURL
		get := func(header http.Header) answer {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
			harness.Must(t, err)
			request.Header = header
			return send(t, request)
		}
		// A web page must not be able to make a browser unsubscribe.
		if got := get(http.Header{"Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Site": {"cross-site"}}); got.status != http.StatusForbidden {
			t.Errorf("a browser that followed the link got %v", got)
		}
		got := get(http.Header{})
		if got.status != http.StatusOK ||
			!strings.Contains(string(got.body), "<UnsubscribeResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\">") {
			t.Fatal(got)
		}
		out := must[*sns.ListSubscriptionsByTopicOutput](t)(call(t, c.sns.ListSubscriptionsByTopic,
			&sns.ListSubscriptionsByTopicInput{TopicArn: aws.String(topic)}, nil))
		if len(out.Subscriptions) != 0 {
			t.Errorf("subscriptions %v", out.Subscriptions)
		}
	})
}
