package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
)

const webEndpoint = "https://example.org/hook?key=secret"

// subscribeWeb subscribes a URL and returns number and ARN of the subscription.
func (w *world) subscribeWeb(topic, url string, given ...Attribute) (uint64, string) {
	w.t.Helper()
	protocol := attributes.ProtocolHTTP
	if strings.HasPrefix(url, "https:") {
		protocol = attributes.ProtocolHTTPS
	}
	got := w.must(&Subscribe{Topic: topic, Protocol: protocol, Endpoint: url, Server: "http://server:9324", Owner: "000000000000",
		Attributes: given}).(Subscribed)
	if !got.Pending {
		w.t.Errorf("%+v is not pending", got)
	}
	all := w.b.View().ListSubscriptions(0, 1000)
	return all[len(all)-1].Number, got.SubscriptionARN
}

// token returns the token that was sent to a subscriber.
func (w *world) token(subscription uint64) string {
	w.t.Helper()
	found := w.deliveries(subscription)
	if len(found) != 1 || found[0].Request.Confirmation == nil {
		w.t.Fatalf("the deliveries are %+v, want a request to confirm", found)
	}
	return found[0].Request.Confirmation.Token
}

// confirmed subscribes a URL and confirms the subscription.
func (w *world) confirmed(topic, url string, given ...Attribute) (uint64, string) {
	w.t.Helper()
	number, arn := w.subscribeWeb(topic, url, given...)
	w.must(&ConfirmSubscription{Topic: topic, Token: w.token(number)})
	return number, arn
}

// deliveries returns the deliveries to a subscription in order of DueAt.
func (w *world) deliveries(subscription uint64) (all []WebDelivery) {
	w.b.View().ScanDeliveries(subscription, func(_ uint64, _ Timestamp, request func() WebDelivery) bool {
		all = append(all, request())
		return true
	})
	return all
}

// report reports the outcome of the first due attempt.
func (w *world) report(subscription uint64, outcome DeliveryOutcome) {
	w.t.Helper()
	first := w.deliveries(subscription)[0]
	w.must(&ReportDeliveries{Reports: []DeliveryReport{{Subscription: subscription, Number: first.Number, Attempts: first.Attempts,
		Outcome: outcome}}})
}

// eventsOf returns the new events of one kind.
func (w *world) eventsOf(kind EventKind) (all []Event) {
	for _, e := range w.b.scratch.events {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// attribute returns an attribute of GetSubscriptionAttributes.
func (w *world) attribute(subscriptionARN, name string) string {
	w.t.Helper()
	list, err := w.b.View().SubscriptionAttributes(subscriptionARN)
	if err != nil {
		w.t.Fatal(err)
	}
	value, _ := attributes.ValueOf(list, name)
	return value
}

func TestSubscribeWebEndpoints(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	w.createTopic("t.fifo")
	subscribe := func(topic string, p attributes.Protocol, url string) *Subscribe {
		return &Subscribe{Topic: topic, Protocol: p, Endpoint: url, Owner: "000000000000"}
	}
	const mismatch = "Invalid parameter: Endpoint must match the specified protocol"
	for _, url := range []string{"", "https://example.org", "http:/example.org", "http://", "http:///path", "http://?q", "http://a b",
		"http://a\n", "HTTP://a", "http://" + strings.Repeat("a", 2048)} {
		w.refused(subscribe("t", attributes.ProtocolHTTP, url), refusal.SNSInvalidParameter, mismatch)
	}
	w.refused(subscribe("t", attributes.ProtocolHTTPS, "http://example.org"), refusal.SNSInvalidParameter, mismatch)
	w.refused(subscribe("t.fifo", attributes.ProtocolHTTPS, webEndpoint), refusal.SNSInvalidParameter,
		"Invalid parameter: Invalid protocol type: https")
	w.refused(subscribe("t", attributes.Protocol(9), webEndpoint), refusal.SNSInvalidParameter, "Invalid parameter: Protocol")

	_, arn := w.subscribeWeb("t", webEndpoint)
	_, other := w.subscribeWeb("t", "http://user:password@example.org:8080/")
	if arn == other {
		t.Error("two URLs have one subscription")
	}
	if again := w.must(subscribe("t", attributes.ProtocolHTTPS, webEndpoint)).(Subscribed); again.SubscriptionARN != arn || !again.Pending {
		t.Errorf("again: %+v, was %s", again, arn)
	}
	topic, _ := w.b.View().TopicAttributes("t")
	if n, _ := attributes.ValueOf(topic, "SubscriptionsPending"); n != "2" {
		t.Errorf("%s subscriptions are pending", n)
	}
}

func TestConfirmSubscription(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	w.createTopic("u")
	number, arn := w.subscribeWeb("t", webEndpoint)
	token := w.token(number)
	w.publish("t", PublishEntry{Message: "before"})
	const bad = "Invalid token"
	forged := []byte(token)
	forged[63] ^= 1
	for _, text := range []string{"", "x", strings.ToUpper(token), token + "0", string(forged), strings.Repeat("0", 300)} {
		w.refused(&ConfirmSubscription{Topic: "t", Token: text}, refusal.SNSInvalidParameter, bad)
	}
	w.refused(&ConfirmSubscription{Topic: "u", Token: token}, refusal.SNSInvalidParameter, bad)
	w.refused(&ConfirmSubscription{Topic: "v", Token: token}, refusal.NotFound, "Topic does not exist")
	if got := w.attribute(arn, "PendingConfirmation"); got != "true" {
		t.Errorf("PendingConfirmation is %s", got)
	}
	if got := w.must(&ConfirmSubscription{Topic: "t", Token: token, Signed: true}).(Subscribed); got.SubscriptionARN != arn || got.Pending {
		t.Errorf("confirmed %+v, want %s", got, arn)
	}
	if left := w.deliveries(number); len(left) != 0 {
		t.Errorf("what was published before, or another request, is to be posted: %+v", left)
	}
	for name, want := range map[string]string{"PendingConfirmation": "false", "ConfirmationWasAuthenticated": "true", "Protocol": "https",
		"Endpoint": webEndpoint} {
		if got := w.attribute(arn, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	w.must(&ConfirmSubscription{Topic: "t", Token: token, AuthenticateOnUnsubscribe: true}) // already confirmed
	w.must(&Unsubscribe{SubscriptionARN: arn})
	w.refused(&ConfirmSubscription{Topic: "t", Token: token}, refusal.SNSInvalidParameter, bad)
}

// A token is valid for three days. Then the subscription is removed, unless another request was
// sent.
func TestConfirmationExpires(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	number, _ := w.subscribeWeb("t", webEndpoint)
	first := w.token(number)
	w.pass(2 * 24 * logtime.Hour)
	w.must(&Subscribe{Topic: "t", Protocol: attributes.ProtocolHTTPS, Endpoint: webEndpoint, Owner: "000000000000"})
	second := w.token(number)
	w.pass(24*logtime.Hour - 1)
	w.must(&AdvanceClock{})
	w.pass(1)
	w.must(&AdvanceClock{})
	w.refused(&ConfirmSubscription{Topic: "t", Token: first}, refusal.SNSInvalidParameter, "Invalid token")
	w.pass(2*24*logtime.Hour - 1)
	w.must(&AdvanceClock{})
	if n := len(w.b.View().ListSubscriptions(0, 10)); n != 1 || second == first {
		t.Fatalf("%d subscriptions before the time is over", n)
	}
	if at := w.b.NextDeadline(); at != w.at+1 {
		t.Errorf("the next deadline is %d, want %d", at, w.at+1)
	}
	w.pass(1)
	w.must(&AdvanceClock{})
	if n := len(w.b.View().ListSubscriptions(0, 10)); n != 0 || w.b.View().WaitingDeliveries() != 0 {
		t.Errorf("%d subscriptions, %d deliveries after the time is over", n, w.b.View().WaitingDeliveries())
	}
}

// A repeated request to confirm is sent whatever the outcome of the first.
func TestConfirmationRequestedAgain(t *testing.T) {
	for _, outcome := range []DeliveryOutcome{DeliveryDone, DeliveryFailed, DeliveryRefused} {
		w := newWorld(t)
		w.createTopic("t")
		number, _ := w.subscribeWeb("t", webEndpoint)
		first := w.deliveries(number)[0]
		w.pass(1)
		w.must(&Subscribe{Topic: "t", Protocol: attributes.ProtocolHTTPS, Endpoint: webEndpoint, Owner: "000000000000"})
		w.must(&ReportDeliveries{Reports: []DeliveryReport{{Subscription: number, Number: first.Number, Attempts: first.Attempts,
			Outcome: outcome}}})
		if second := w.token(number); second == first.Request.Confirmation.Token || w.deliveries(number)[0].DueAt != w.at {
			t.Errorf("after outcome %d the subscriber is not asked again at once", outcome)
		}
		w.report(number, DeliveryDone)
		if n := w.b.View().WaitingDeliveries(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
	}
}

func TestUnsubscribeSigned(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	number, arn := w.subscribeWeb("t", webEndpoint)
	w.must(&ConfirmSubscription{Topic: "t", Token: w.token(number), Signed: true, AuthenticateOnUnsubscribe: true})
	w.refused(&Unsubscribe{SubscriptionARN: arn}, refusal.AuthorizationError,
		"The subscription was confirmed with AuthenticateOnUnsubscribe: sign the request to unsubscribe.")
	w.must(&Unsubscribe{SubscriptionARN: arn, Signed: true})
	if n := len(w.b.View().ListSubscriptions(0, 10)); n != 0 {
		t.Errorf("%d subscriptions", n)
	}
}

// A publication reaches each URL whose filter accepts it once, and all share one stored message.
func TestDeliveriesOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	all, _ := w.confirmed("t", webEndpoint)
	red, _ := w.confirmed("t", "http://example.org/red", Attribute{Name: "FilterPolicy", Value: `{"color":["red"]}`},
		Attribute{Name: "RawMessageDelivery", Value: "true"})
	empty := w.b.View().StateBytes()
	body := strings.Repeat("x", 100_000)
	w.publish("t", PublishEntry{Message: body, Attributes: []MessageAttribute{{Name: "color", DataType: "String", Value: "red"}}})
	w.publish("t", PublishEntry{Message: "blue"})
	if grown := w.b.View().StateBytes() - empty; grown < 100_000 || grown > 110_000 {
		t.Errorf("the state has grown by %d bytes", grown)
	}
	if to, toRed := w.deliveries(all), w.deliveries(red); len(to) != 2 || len(toRed) != 1 || toRed[0].Request.Body() != body ||
		!toRed[0].Request.Raw ||
		!strings.HasPrefix(to[0].Request.Body(), `{"Type":"Notification"`) || to[0].URL != webEndpoint {
		t.Errorf("%d and %d deliveries", len(to), len(toRed))
	}
	w.report(all, DeliveryDone)
	w.report(all, DeliveryDone)
	if n := w.b.View().WaitingDeliveries(); n != 1 {
		t.Errorf("%d deliveries wait", n)
	}
	w.report(red, DeliveryDone)
	if grown := w.b.View().StateBytes() - empty; grown != 0 {
		t.Errorf("%d bytes are left", grown)
	}
}

// Retries follow the policy of the subscription, else of the topic; a repeated report counts once.
func TestDeliveryRetries(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t", Attribute{Name: "DeliveryPolicy",
		Value: `{"http":{"defaultHealthyRetryPolicy":{"numRetries":1,"minDelayTarget":5,"maxDelayTarget":5}}}`})
	w.must(&CreateQueue{Queue: "dead"})
	redrive := Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + queueARN("dead") + `"}`}
	byTopic, _ := w.confirmed("t", webEndpoint)
	own, arn := w.confirmed("t", "http://example.org/", redrive,
		Attribute{Name: "DeliveryPolicy",
			Value: `{"healthyRetryPolicy":{"numRetries":4,"numNoDelayRetries":1,"minDelayTarget":10,"maxDelayTarget":30}}`})
	w.publish("t", PublishEntry{Message: "m"})
	failures := func(subscription uint64) (delays []logtime.Duration) {
		for {
			before := w.deliveries(subscription)
			if len(before) == 0 {
				return delays
			}
			w.report(subscription, DeliveryFailed)
			stale := before[0]
			w.must(&ReportDeliveries{Reports: []DeliveryReport{{Subscription: subscription, Number: stale.Number, Attempts: stale.Attempts,
				Outcome: DeliveryFailed}}})
			for _, d := range w.deliveries(subscription) {
				delays = append(delays, d.DueAt.Sub(w.at))
				w.pass(d.DueAt.Sub(w.at))
			}
		}
	}
	equalDelays := func(have []logtime.Duration, want ...logtime.Duration) {
		t.Helper()
		for i := range want {
			want[i] *= logtime.Second
		}
		if !equal(have, want) {
			t.Errorf("delays %v, want %v", have, want)
		}
	}
	equalDelays(failures(byTopic), 5)
	equalDelays(failures(own), 0, 10, 20, 30)
	if got := w.eventsOf(TopicDeliveriesLost); len(got) != 1 || got[0].Queue != "https://example.org" {
		t.Errorf("lost: %+v", got)
	}
	if got := w.eventsOf(TopicDeliveriesDeadLettered); len(got) != 1 || got[0].Queue != "http://example.org" {
		t.Errorf("dead-lettered: %+v", got)
	}
	if dead := w.receive("dead", 10); len(dead) != 1 || !strings.Contains(dead[0].Body.String(), arn) {
		t.Errorf("the dead-letter queue has %+v", dead)
	}
	w.publish("t", PublishEntry{Message: "refused at once"})
	w.report(own, DeliveryRefused)
	if n := len(w.deliveries(own)); n != 0 {
		t.Errorf("%d attempts are to be made of what was refused", n)
	}
}

func TestSubscriptionDeliveryPolicy(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	_, arn := w.confirmed("t", webEndpoint)
	set := func(arn, text string) *SetSubscriptionAttributes {
		return &SetSubscriptionAttributes{SubscriptionARN: arn, Attributes: []Attribute{{Name: "DeliveryPolicy", Value: text}}}
	}
	const begin = "Invalid parameter: DeliveryPolicy: "
	for text, want := range map[string]string{
		`[]`: "failed to parse JSON.",
		`{"healthyRetryPolicy":{"numRetries":101}}`: "healthyRetryPolicy numRetries must be a " +
			"whole number from 0 to 100",
		`{"healthyRetryPolicy":{"minDelayTarget":0}}`: "healthyRetryPolicy minDelayTarget must " +
			"be a whole number from 1 to 3600",
		`{"healthyRetryPolicy":{"minDelayTarget":9,"maxDelayTarget":8}}`: "healthyRetryPolicy minDelayTarget must " +
			"not be above maxDelayTarget",
		`{"healthyRetryPolicy":{"numRetries":2,"numNoDelayRetries":3}}`: "healthyRetryPolicy numRetries must be at " +
			"least the sum of the other numbers of retries",
		`{"healthyRetryPolicy":{"backoffFunction":"cubic"}}`: "healthyRetryPolicy backoffFunction must " +
			"be arithmetic, exponential, geometric or linear",
		`{"healthyRetryPolicy":{"numRetries":2,"minDelayTarget":3600}}`: "healthyRetryPolicy takes more than 3600 seconds for all retries",
		`{"healthyRetryPolicy":1}`:                                      "healthyRetryPolicy must be an object",
		`{"requestPolicy":{"headerContentType":"a\nb"}}`:                "headerContentType must be the value of a header",
	} {
		w.refused(set(arn, text), refusal.SNSInvalidParameter, begin+want)
	}
	effective := func() string { return w.attribute(arn, "EffectiveDeliveryPolicy") }
	usual := effective()
	if want := `{"healthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0,"numNoDelayRetries":0,` +
		`"numMinDelayRetries":0,"backoffFunction":"linear"},"sicklyRetryPolicy":null,"throttlePolicy":null,` +
		`"requestPolicy":{"headerContentType":"text/plain; charset=UTF-8"},"guaranteed":false}`; usual != want {
		t.Errorf("the policy by default is %s", usual)
	}
	w.must(set(arn, `{"healthyRetryPolicy":{"numRetries":7},"requestPolicy":{"headerContentType":"application/json"}}`))
	if got := effective(); !strings.Contains(got, `"numRetries":7`) || !strings.Contains(got, `"headerContentType":"application/json"`) {
		t.Errorf("the policy of the subscription is not in force: %s", got)
	}
	topicPolicy := `{"http":{"disableSubscriptionOverrides":true,"defaultHealthyRetryPolicy":{"numRetries":9}}}`
	w.must(&SetTopicAttributes{Topic: "t", Attributes: []Attribute{{Name: "DeliveryPolicy", Value: topicPolicy}}})
	if got := effective(); !strings.Contains(got, `"numRetries":9`) || strings.Contains(got, "application/json") {
		t.Errorf("the policy of the topic is not in force: %s", got)
	}
	toQueue := w.subscribe("t", "q")
	w.refused(set(toQueue, `{"healthyRetryPolicy":{"numRetries":7}}`), refusal.SNSInvalidParameter, "Invalid parameter: AttributeName")
}
