package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// subscriber is an HTTP server that topics post to.
type subscriber struct {
	url      string
	arrivals chan arrival // capacity: more than a test needs
	status   int          // of the answers to notifications
}

// arrival is one request to a subscriber.
type arrival struct {
	header http.Header
	body   string
}

// newSubscriber starts a subscriber for the test. It answers notifications with a status.
func newSubscriber(t *testing.T, status int) *subscriber {
	t.Helper()
	s := &subscriber{arrivals: make(chan arrival, 100), status: status}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		s.arrivals <- arrival{r.Header, string(body)}
		if r.Header.Get("X-Amz-Sns-Message-Type") == "Notification" {
			w.WriteHeader(s.status)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/" + unique(t)
	return s
}

func (s *subscriber) next(t *testing.T) arrival {
	t.Helper()
	select {
	case a := <-s.arrivals:
		return a
	case <-t.Context().Done():
		t.Fatal("the test ended before a request arrived")
		return arrival{}
	}
}

// members reads the JSON of a body.
func (a arrival) members(t *testing.T) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(a.body), &all); err != nil {
		t.Fatalf("%q: %v", a.body, err)
	}
	return all
}

// headers returns the headers that SNS documents, and the content type.
func (a arrival) headers() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"Content-Type", "X-Amz-Sns-Message-Type", "X-Amz-Sns-Message-Id", "X-Amz-Sns-Topic-Arn",
		"X-Amz-Sns-Subscription-Arn", "X-Amz-Sns-Rawdelivery"} {
		if value := a.header.Get(name); value != "" {
			found[name] = value
		}
	}
	return found
}

// subscribeWeb subscribes a URL and returns the ARN of the subscription.
func (c *client) subscribeWeb(t *testing.T, topic string, s *subscriber, attributes attrs) string {
	t.Helper()
	in := &sns.SubscribeInput{TopicArn: &topic, Protocol: aws.String("http"), Endpoint: &s.url, Attributes: attributes,
		ReturnSubscriptionArn: true}
	return aws.ToString(must[*sns.SubscribeOutput](t)(call(t, c.sns.Subscribe, in, nil)).SubscriptionArn)
}

// confirmWeb subscribes a URL and confirms the subscription.
func (c *client) confirmWeb(t *testing.T, topic string, s *subscriber, attributes attrs) string {
	t.Helper()
	subscription := c.subscribeWeb(t, topic, s, attributes)
	token := s.next(t).members(t)["Token"].(string)
	got, refusal := call(t, c.sns.ConfirmSubscription, &sns.ConfirmSubscriptionInput{TopicArn: &topic, Token: &token}, nil)
	if refusal != nil || aws.ToString(got.SubscriptionArn) != subscription {
		t.Fatalf("confirmed %+v, %v, want %s", got, refusal, subscription)
	}
	return subscription
}

// get follows a link from a message to a subscriber.
func get(t *testing.T, link any) (status int, body string) {
	t.Helper()
	answer, err := http.Get(link.(string))
	harness.Must(t, err)
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	harness.Must(t, err)
	return answer.StatusCode, string(read)
}

// TestSubscribeWeb subscribes a URL, which confirms by the link, gets notifications, and
// unsubscribes by the link.
func TestSubscribeWeb(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, s := c.stdTopic(t, nil), newSubscriber(t, http.StatusOK)
		out := must[*sns.SubscribeOutput](t)(c.trySubscribe(t, topic, "http", s.url, nil))
		if got := aws.ToString(out.SubscriptionArn); got != "pending confirmation" {
			t.Errorf("the answer is %s", got)
		}
		asked := s.next(t)
		got := asked.members(t)
		link := got["SubscribeURL"].(string)
		want := map[string]any{
			"Type": "SubscriptionConfirmation", "TopicArn": topic, "MessageId": got["MessageId"], "Token": got["Token"],
			"SubscribeURL": link, "Timestamp": got["Timestamp"],
			"Message": "You have chosen to subscribe to the topic " + topic +
				".\nTo confirm the subscription, visit the SubscribeURL included in this message.",
		}
		if diff := cmp.Diff(want, got); diff != "" ||
			!strings.Contains(link, "/?Action=ConfirmSubscription&TopicArn="+topic+"&Token="+got["Token"].(string)) {
			t.Errorf("the request to confirm, %s (-want +got):\n%s", link, diff)
		}
		headers := map[string]string{
			"Content-Type": "text/plain; charset=UTF-8", "X-Amz-Sns-Message-Type": "SubscriptionConfirmation",
			"X-Amz-Sns-Message-Id": got["MessageId"].(string), "X-Amz-Sns-Topic-Arn": topic,
		}
		if diff := cmp.Diff(headers, asked.headers()); diff != "" {
			t.Errorf("its headers (-want +got):\n%s", diff)
		}
		listed := func() string {
			in := &sns.ListSubscriptionsByTopicInput{TopicArn: &topic}
			all := must[*sns.ListSubscriptionsByTopicOutput](t)(call(t, c.sns.ListSubscriptionsByTopic, in, nil)).Subscriptions
			if len(all) == 0 {
				return ""
			}
			return aws.ToString(all[0].SubscriptionArn) + " " + aws.ToString(all[0].Protocol) + " " + aws.ToString(all[0].Endpoint)
		}
		if got := listed(); got != "PendingConfirmation http "+s.url {
			t.Errorf("listed is %s", got)
		}

		status, answer := get(t, link)
		_, rest, _ := strings.Cut(answer, "<SubscriptionArn>")
		subscription, _, _ := strings.Cut(rest, "</SubscriptionArn>")
		if status != http.StatusOK || !strings.HasPrefix(subscription, topic+":") {
			t.Fatalf("the link was answered with %d %s", status, answer)
		}
		if got := listed(); got != subscription+" http "+s.url {
			t.Errorf("listed is %s", got)
		}
		published := c.publish(t, topic, `a "message"`, subject("s"))
		sent := s.next(t)
		got = sent.members(t)
		want = map[string]any{
			"Type": "Notification", "MessageId": aws.ToString(published.MessageId), "TopicArn": topic, "Subject": "s",
			"Message":   `a "message"`,
			"Timestamp": got["Timestamp"], "UnsubscribeURL": got["UnsubscribeURL"],
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the notification (-want +got):\n%s", diff)
		}
		headers["X-Amz-Sns-Message-Type"], headers["X-Amz-Sns-Message-Id"], headers["X-Amz-Sns-Subscription-Arn"] = "Notification",
			*published.MessageId, subscription
		if diff := cmp.Diff(headers, sent.headers()); diff != "" {
			t.Errorf("its headers (-want +got):\n%s", diff)
		}
		if status, answer := get(t, got["UnsubscribeURL"]); status != http.StatusOK || listed() != "" {
			t.Errorf("the link was answered with %d %s; listed is %s", status, answer, listed())
		}
	})
}

func TestSubscribeWebAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, s := c.stdTopic(t, nil), newSubscriber(t, http.StatusOK)
		subscription := c.subscribeWeb(t, topic, s, nil)
		want := attrs{
			"TopicArn": topic, "Endpoint": s.url, "Protocol": "http", "Owner": account, "PendingConfirmation": "true",
			"ConfirmationWasAuthenticated": "false", "RawMessageDelivery": "false",
			"SubscriptionPrincipal": "arn:aws:iam::" + account + ":root",
			"SubscriptionArn":       subscription,
			"EffectiveDeliveryPolicy": `{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0,"numNoDelayRetries":0,` +
				`"numMinDelayRetries":0,"backoffFunction":"linear"},"sicklyRetryPolicy":null,"throttlePolicy":null,` +
				`"requestPolicy":{"headerContentType":"text/plain; charset=UTF-8"},"guaranteed":false}`,
		}
		if diff := cmp.Diff(want, c.subscriptionAttributes(t, subscription)); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		if again := c.subscribeWeb(t, topic, s, nil); again != subscription {
			t.Errorf("subscribed again: %s, was %s", again, subscription)
		}
		asked := s.next(t).members(t)
		first, second := asked["Token"].(string), s.next(t).members(t)["Token"].(string)
		if first == second {
			t.Error("the subscriber was asked with the same token again")
		}
		if got := c.topicAttributes(t, topic); got["SubscriptionsPending"] != "1" || got["SubscriptionsConfirmed"] != "0" {
			t.Errorf("the topic counts %v", got)
		}
		if status, answer := get(t, asked["SubscribeURL"].(string)+"&AuthenticateOnUnsubscribe=true"); status != http.StatusForbidden ||
			!strings.Contains(answer, "AuthorizationError") {
			t.Errorf("an unsigned request for signed ones was answered with %d %s", status, answer)
		}
		in := &sns.ConfirmSubscriptionInput{TopicArn: &topic, Token: &first, AuthenticateOnUnsubscribe: aws.String("true")}
		must[*sns.ConfirmSubscriptionOutput](t)(call(t, c.sns.ConfirmSubscription, in, nil))
		got := c.subscriptionAttributes(t, subscription)
		if got["PendingConfirmation"] != "false" || got["ConfirmationWasAuthenticated"] != "true" {
			t.Errorf("confirmed: %v", got)
		}
		c.publish(t, topic, "m")
		if status, answer := get(t, s.next(t).members(t)["UnsubscribeURL"]); status != http.StatusForbidden ||
			!strings.Contains(answer, "AuthorizationError") {
			t.Errorf("the link was answered with %d %s", status, answer)
		}
		c.unsubscribe(t, subscription)
	})
}

func TestSubscribeWebRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		for _, endpoint := range []string{"", "https://example.org/", "example.org", "http://", "http://a b/", "http://[::1"} {
			_, got := c.trySubscribe(t, topic, "http", endpoint, nil)
			refused(t, got, invalid, "Invalid parameter: Endpoint must match the specified protocol")
		}
		_, got := c.trySubscribe(t, topic, "http", "http://example.org/",
			attrs{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":101}}`})
		refused(t, got, invalid, "Invalid parameter: Attributes Reason: DeliveryPolicy: healthyRetryPolicy "+
			"numRetries must be a whole number from 0 to 100")
		for _, protocol := range []string{"http", "https"} {
			_, got := c.trySubscribe(t, c.fifoTopic(t, nil), protocol, protocol+"://example.org/", nil)
			refused(t, got, invalid, "Invalid parameter: Invalid protocol type: "+protocol)
		}
		queue := c.subscribe(t, topic, c.std(t, nil), nil)
		refused(t, c.trySetSubscription(t, queue, "DeliveryPolicy", `{}`), invalid, "Invalid parameter: AttributeName")
	})
}

// TestTopicDeliveryPolicy checks that the policy of a topic applies to subscribers without a policy
// of their own.
func TestTopicDeliveryPolicy(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		inherits := c.subscribeWeb(t, topic, newSubscriber(t, http.StatusOK), nil)
		own := c.subscribeWeb(t, topic, newSubscriber(t, http.StatusOK), attrs{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":5}}`})
		retries := func(attributes attrs) string {
			_, rest, _ := strings.Cut(attributes["EffectiveDeliveryPolicy"], `"numRetries":`)
			number, _, _ := strings.Cut(rest, ",")
			return number
		}
		for _, step := range []struct{ policy, topic, inherits, own string }{
			{"", "3", "3", "5"},
			{`{"http":{"defaultHealthyRetryPolicy":{"numRetries":7}}}`, "7", "7", "5"},
			{`{"http":{"defaultHealthyRetryPolicy":{"numRetries":9},"disableSubscriptionOverrides":true}}`, "9", "9", "9"},
		} {
			c.setTopic(t, topic, "DeliveryPolicy", step.policy)
			got := [3]string{retries(c.topicAttributes(t, topic)), retries(c.subscriptionAttributes(t, inherits)),
				retries(c.subscriptionAttributes(t, own))}
			if want := [3]string{step.topic, step.inherits, step.own}; got != want {
				t.Errorf("%s: %v retries, want %v", step.policy, got, want)
			}
		}
		refused(t, c.trySetTopic(t, topic, "DeliveryPolicy", `{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}`), invalid,
			"Invalid parameter: DeliveryPolicy: defaultHealthyRetryPolicy numRetries must be a whole number from 0 to 100")
	})
}

// TestPublishWeb: raw delivery, filters and the content type of the policy.
func TestPublishWeb(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, s, all := c.stdTopic(t, nil), newSubscriber(t, http.StatusAccepted), newSubscriber(t, http.StatusOK)
		subscription := c.confirmWeb(t, topic, s, attrs{"RawMessageDelivery": "true", "FilterPolicy": `{"n":["2"]}`})
		c.setSubscription(t, subscription, "DeliveryPolicy", `{"requestPolicy":{"headerContentType":"application/json"}}`)
		c.confirmWeb(t, topic, all, nil)
		var ids []string
		for i := range 3 {
			ids = append(ids, aws.ToString(c.publish(t, topic, fmt.Sprint("m", i), topicText("n", "String", fmt.Sprint(i))).MessageId))
		}
		got := s.next(t)
		want := map[string]string{
			"Content-Type": "application/json", "X-Amz-Sns-Message-Type": "Notification", "X-Amz-Sns-Message-Id": ids[2],
			"X-Amz-Sns-Topic-Arn":        topic,
			"X-Amz-Sns-Subscription-Arn": subscription, "X-Amz-Sns-Rawdelivery": "true",
		}
		if diff := cmp.Diff(want, got.headers()); diff != "" || got.body != "m2" {
			t.Errorf("body %q, headers (-want +got):\n%s", got.body, diff)
		}
		seen := map[string]bool{}
		for range ids {
			seen[all.next(t).members(t)["Message"].(string)] = true
		}
		if len(seen) != len(ids) {
			t.Errorf("without a filter arrived %v", seen)
		}
	})
}

// TestPublishWebDeadLetters checks that a refused message goes to the dead-letter queue in the form
// in which it was posted.
func TestPublishWebDeadLetters(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		for _, test := range []struct {
			name     string
			status   int
			policy   string
			attempts int
		}{
			{"refused", http.StatusNotFound, `{"healthyRetryPolicy":{"numRetries":3}}`, 1},
			{"redirect", http.StatusFound, `{"healthyRetryPolicy":{"numRetries":3}}`, 1},
			{"after the last attempt", http.StatusServiceUnavailable,
				`{"healthyRetryPolicy":{"numRetries":2,"numNoDelayRetries":1,"minDelayTarget":1,"maxDelayTarget":1}}`, 3},
		} {
			t.Run(test.name, func(t *testing.T) {
				topic, dead, s := c.stdTopic(t, nil), c.std(t, nil), newSubscriber(t, test.status)
				c.confirmWeb(t, topic, s, attrs{"DeliveryPolicy": test.policy,
					"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"%s"}`, arn(dead))})
				c.publish(t, topic, "m")
				var posted arrival
				for range test.attempts {
					posted = s.next(t)
				}
				got := c.one(t, dead)
				if body := aws.ToString(got.Body); body != posted.body {
					t.Errorf("the dead-letter queue has %s, posted was %s", body, posted.body)
				}
				if n := len(s.arrivals); n != 0 {
					t.Errorf("%d more attempts", n)
				}
			})
		}
	})
}
