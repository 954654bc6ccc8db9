package conformance

import (
	"net/http"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
	seriatim "github.com/seriatimq/seriatim/transport/grpc/client"
)

// TestNativeWebSubscription subscribes and confirms a URL over the native API.
func TestNativeWebSubscription(t *testing.T) {
	t.Parallel()
	n, s, topic := newNative(t), newSubscriber(t, http.StatusOK), unique(t)
	harness.Must(t, harness.Err(n.next().CreateTopic(t.Context(), topic, nil, nil)))
	raw := map[string]string{"RawMessageDelivery": "true"}
	arn, pending, err := n.next().SubscribeURL(t.Context(), topic, s.url, raw)
	if err != nil || !pending {
		t.Fatalf("%s, pending %v, %v", arn, pending, err)
	}
	listed := func(pending bool) {
		t.Helper()
		all, err := n.next().Subscriptions(t.Context(), topic)
		if err != nil || len(all) != 1 || all[0].GetSubscriptionArn() != arn || all[0].GetEndpoint() != s.url || all[0].GetQueue() != "" ||
			all[0].GetPending() != pending {
			t.Errorf("listed is %v, %v", all, err)
		}
	}
	listed(true)
	asked := s.next(t).members(t)
	for range 2 {
		confirmed, err := n.next().ConfirmSubscription(t.Context(), topic, asked["Token"].(string))
		if err != nil || confirmed != arn {
			t.Fatalf("confirmed %s, want %s, %v", confirmed, arn, err)
		}
	}
	listed(false)
	if again, pending, err := n.next().SubscribeURL(t.Context(), topic, s.url, raw); again != arn || pending || err != nil {
		t.Errorf("again: %s, pending %v, %v", again, pending, err)
	}
	// The link in the request leads to the node that was asked to subscribe.
	if status, answer := get(t, asked["SubscribeURL"]); status != http.StatusOK {
		t.Errorf("the link was answered with %d %s", status, answer)
	}
	harness.Must(t, harness.Err(n.next().Publish(t.Context(), topic, &seriatim.TopicMessage{Message: "m"})))
	if got := s.next(t); got.body != "m" || got.header.Get("X-Amz-Sns-Subscription-Arn") != arn {
		t.Errorf("posted was %s with %v", got.body, got.header)
	}
	harness.Check(t, n.next().Unsubscribe(t.Context(), arn))
}
