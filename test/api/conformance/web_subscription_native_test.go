package conformance

import (
	"net/http"
	"testing"

	seriatim "github.com/seriatimq/seriatim/transport/grpc/client"
)

// TestNativeWebSubscription subscribes and confirms a URL over the native API.
func TestNativeWebSubscription(t *testing.T) {
	t.Parallel()
	n, s, topic := newNative(t), newSubscriber(t, http.StatusOK), unique(t)
	if _, err := n.next(t).CreateTopic(t.Context(), topic, nil, nil); err != nil {
		t.Fatal(err)
	}
	raw := map[string]string{"RawMessageDelivery": "true"}
	arn, pending, err := n.next(t).SubscribeURL(t.Context(), topic, s.url, raw)
	if err != nil || !pending {
		t.Fatalf("%s, pending %v, %v", arn, pending, err)
	}
	listed := func(pending bool) {
		t.Helper()
		all, err := n.next(t).Subscriptions(t.Context(), topic)
		if err != nil || len(all) != 1 || all[0].GetSubscriptionArn() != arn || all[0].GetEndpoint() != s.url || all[0].GetQueue() != "" ||
			all[0].GetPending() != pending {
			t.Errorf("listed is %v, %v", all, err)
		}
	}
	listed(true)
	asked := s.next(t).members(t)
	for range 2 {
		confirmed, err := n.next(t).ConfirmSubscription(t.Context(), topic, asked["Token"].(string))
		if err != nil || confirmed != arn {
			t.Fatalf("confirmed %s, want %s, %v", confirmed, arn, err)
		}
	}
	listed(false)
	if again, pending, err := n.next(t).SubscribeURL(t.Context(), topic, s.url, raw); again != arn || pending || err != nil {
		t.Errorf("again: %s, pending %v, %v", again, pending, err)
	}
	// The link in the request leads to the node that was asked to subscribe.
	if status, answer := get(t, asked["SubscribeURL"]); status != http.StatusOK {
		t.Errorf("the link was answered with %d %s", status, answer)
	}
	if _, err := n.next(t).Publish(t.Context(), topic, &seriatim.TopicMessage{Message: "m"}); err != nil {
		t.Fatal(err)
	}
	if got := s.next(t); got.body != "m" || got.header.Get("X-Amz-Sns-Subscription-Arn") != arn {
		t.Errorf("posted was %s with %v", got.body, got.header)
	}
	if err := n.next(t).Unsubscribe(t.Context(), arn); err != nil {
		t.Error(err)
	}
}
