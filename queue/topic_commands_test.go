package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

const snsAccount = "arn:aws:sns:us-east-1:000000000000:"

func topicARN(name string) string { return snsAccount + name }

func queueARN(name string) string { return "arn:aws:sqs:us-east-1:000000000000:" + name }

// createTopic creates a topic, of the type that its name implies.
func (w *world) createTopic(name string, attributes ...Attribute) {
	w.t.Helper()
	if isFIFOName(name) {
		attributes = append(attributes, Attribute{Name: "FifoTopic", Value: "true"})
	}
	w.must(&CreateTopic{Topic: name, TopicARN: topicARN(name), Attributes: attributes})
}

// subscribe subscribes a queue and returns the ARN of the subscription.
func (w *world) subscribe(topic, queue string, attributes ...Attribute) string {
	w.t.Helper()
	return w.must(&Subscribe{Topic: topic, Endpoint: queueARN(queue), Owner: "000000000000",
		Attributes: attributes}).(Subscribed).SubscriptionARN
}

// refused applies a command that Validate or apply must refuse.
func (w *world) refused(cmd Command, code refusal.Code, text string) {
	w.t.Helper()
	before := w.b.StateHash()
	_, err := w.apply(cmd)
	if err == nil || err.Code != code || err.Message != text {
		w.t.Errorf("%#v was answered with %v, want %d %s", cmd, err, code, text)
	}
	if w.b.StateHash() != before {
		w.t.Errorf("%#v changed the state", cmd)
	}
	if early := cmd.Validate(); early != nil && (early.Code != code || early.Message != text) {
		w.t.Errorf("%#v is refused with %v before the log", cmd, early)
	}
}

func TestCreateTopic(t *testing.T) {
	w := newWorld(t)
	fifo := Attribute{Name: "FifoTopic", Value: "true"}
	shown := Attribute{Name: "DisplayName", Value: "A"}
	create := func(name string, tags []Tag, attributes ...Attribute) *CreateTopic {
		return &CreateTopic{Topic: name, TopicARN: topicARN(name), Attributes: attributes, Tags: tags}
	}
	const badName, differs = "Invalid parameter: Topic Name",
		"Invalid parameter: Attributes Reason: Topic already exists with different attributes"
	w.refused(create("t.fifo", nil), refusal.SNSInvalidParameter, badName)
	w.refused(create("t", nil, fifo), refusal.SNSInvalidParameter, badName)
	w.refused(&CreateTopic{Topic: "t", TopicARN: topicARN("u")}, refusal.SNSInvalidParameter, "Invalid parameter: TopicArn")
	made := w.must(create("t.fifo", []Tag{{Key: "team", Value: "red"}}, shown, fifo))
	for _, again := range []*CreateTopic{
		create("t.fifo", nil, fifo), create("t.fifo", nil, shown, fifo), create("t.fifo", []Tag{{Key: "team", Value: "red"}}, fifo),
	} {
		if got := w.must(again); got != made || got != Result(TopicCreated{TopicARN: topicARN("t.fifo")}) {
			t.Errorf("%#v was answered with %v, the first with %v", again, got, made)
		}
	}
	w.refused(create("t.fifo", nil, Attribute{Name: "DisplayName", Value: "B"}, fifo), refusal.SNSInvalidParameter, differs)
	w.refused(create("t.fifo", []Tag{{Key: "team", Value: "blue"}}, fifo), refusal.SNSInvalidParameter,
		"Invalid parameter: Tags Reason: Topic already exists with different tags")

	list, err := w.b.View().TopicAttributes("t.fifo")
	if err != nil {
		t.Fatal(err)
	}
	want := "[{ContentBasedDeduplication false} {DisplayName A} {FifoThroughputScope Topic} {FifoTopic true} " +
		"{SubscriptionsConfirmed 0} {SubscriptionsDeleted 0} {SubscriptionsPending 0} {TopicArn " + topicARN("t.fifo") + "}]"
	if got := fmt.Sprint(list); got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
}

func TestNumberOfTopics(t *testing.T) {
	w := newWorld(t)
	for i := range limits.TopicsFIFOMax {
		name := fmt.Sprint("t", i, ".fifo")
		if _, err := w.b.Apply(w.at, &CreateTopic{Topic: name, TopicARN: topicARN(name),
			Attributes: []Attribute{{Name: "FifoTopic", Value: "true"}}}); err != nil {
			t.Fatal(err)
		}
	}
	more := &CreateTopic{Topic: "t.fifo", TopicARN: topicARN("t.fifo"), Attributes: []Attribute{{Name: "FifoTopic", Value: "true"}}}
	w.refused(more, refusal.TopicLimitExceeded, "There can be 1000 topics of this type.")
	w.createTopic("plain")
	w.must(&DeleteTopic{Topic: "t0.fifo"})
	w.must(more)

	var pages []int
	seen, after := map[string]bool{}, ""
	for {
		page := w.b.View().ListTopics(after, 400)
		if len(page) == 0 {
			break
		}
		for _, name := range page {
			seen[name] = true
		}
		pages, after = append(pages, len(page)), page[len(page)-1]
	}
	if fmt.Sprint(pages) != "[400 400 201]" || len(seen) != 1001 || w.b.View().Topics() != 1001 {
		t.Errorf("pages of %v topics, %d different ones", pages, len(seen))
	}
}

func TestDeleteTopic(t *testing.T) {
	w := newWorld(t)
	empty := w.b.View().StateBytes()
	w.createTopic("t.fifo")
	w.must(&SetTopicTags{Topic: "t.fifo", Set: []Tag{{Key: "k", Value: "v"}}})
	kept := w.subscribe("t.fifo", "q.fifo")
	w.must(&SetTopicAttributes{Topic: "t.fifo", Attributes: []Attribute{{Name: "ArchivePolicy", Value: `{"MessageRetentionPeriod":"3"}`}}})
	w.refused(&DeleteTopic{Topic: "t.fifo"}, refusal.InvalidState, "Invalid state: Cannot delete a topic with an ArchivePolicy")
	w.must(&SetTopicAttributes{Topic: "t.fifo", Attributes: []Attribute{{Name: "ArchivePolicy", Value: "{}"}}})
	w.must(&DeleteTopic{Topic: "t.fifo"})
	w.must(&DeleteTopic{Topic: "t.fifo"})
	if got := w.b.View().StateBytes(); got != empty {
		t.Errorf("%d bytes are left, %d were there", got, empty)
	}
	if list := w.b.View().ListSubscriptions(0, 10); len(list) != 0 {
		t.Errorf("subscriptions are left: %v", list)
	}
	if _, err := w.b.View().SubscriptionAttributes(kept); err == nil || err.Code != refusal.NotFound {
		t.Errorf("the subscription of a deleted topic: %v", err)
	}
	w.createTopic("t.fifo")
	if tags, err := w.b.View().TopicTags("t.fifo"); err != nil || len(tags) != 0 {
		t.Errorf("the new topic has tags %v, %v", tags, err)
	}
	if again := w.subscribe("t.fifo", "q.fifo"); again == kept {
		t.Error("the ARN of a subscription was used twice")
	}
}

func TestUnknownTopics(t *testing.T) {
	w := newWorld(t)
	const gone = "Topic does not exist"
	for _, cmd := range []Command{
		&SetTopicAttributes{Topic: "t", Attributes: []Attribute{{Name: "DisplayName", Value: "x"}}},
		&SetTopicPolicy{Topic: "t", Label: "l", Remove: true},
		&Subscribe{Topic: "t", Endpoint: queueARN("q")},
		&DeleteTopic{Topic: strings.Repeat("t", 801)},
	} {
		w.refused(cmd, refusal.NotFound, gone)
	}
	w.refused(&SetTopicTags{Topic: "t", Set: []Tag{{Key: "k"}}}, refusal.SNSResourceNotFound, "Resource does not exist")
	missing := topicARN("t") + ":6b0e71bd-7e97-4d97-80ce-4a0994e55286"
	w.refused(&SetSubscriptionAttributes{SubscriptionARN: missing}, refusal.NotFound, "Subscription does not exist")
	w.must(&Unsubscribe{SubscriptionARN: missing})
}

func TestSetTopicAttributes(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	w.createTopic("plain")
	set := func(topic, name, value string) *SetTopicAttributes {
		return &SetTopicAttributes{Topic: topic, Attributes: []Attribute{{Name: name, Value: value}}}
	}
	for _, c := range []*SetTopicAttributes{
		set("t.fifo", "FifoTopic", "true"), set("t.fifo", "NoSuch", "x"), set("plain", "ContentBasedDeduplication", "true"),
	} {
		w.refused(c, refusal.SNSInvalidParameter, "Invalid parameter: AttributeName")
	}
	w.must(set("t.fifo", "FifoThroughputScope", "MessageGroup"))
	w.refused(set("t.fifo", "FifoThroughputScope", "Topic"), refusal.SNSInvalidParameter,
		"Invalid parameter: FifoThroughputScope: Invalid value [Topic]. Cannot be changed from MessageGroup to Topic.")
	w.must(set("t.fifo", "DeduplicationWindowSeconds", "20"))
	if a, err := w.b.View().TypedTopic("t.fifo"); err != nil || a.Deduplication.WindowSeconds != 20 {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestTopicTags(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	many := func(from, to int) (tags []Tag) {
		for i := from; i < to; i++ {
			tags = append(tags, Tag{Key: fmt.Sprintf("k%02d", i), Value: "v"})
		}
		return tags
	}
	w.must(&SetTopicTags{Topic: "t", Set: many(0, 50)})
	w.refused(&SetTopicTags{Topic: "t", Set: many(50, 51)}, refusal.TagLimitExceeded,
		"Could not complete request: tag quota of per resource exceeded")
	w.refused(&SetTopicTags{Topic: "t", Set: []Tag{{Key: "a"}, {Key: "a"}}}, refusal.SNSInvalidParameter,
		"Invalid parameter: Duplicated keys are not allowed.")
	w.must(&SetTopicTags{Topic: "t", Remove: []string{"k00", "none"}, Set: many(50, 51)})
	if tags, _ := w.b.View().TopicTags("t"); len(tags) != 50 || tags[0].Key != "k01" {
		t.Errorf("tags %v", tags)
	}
}

// The default Policy equals none, with members in any order, because tools sort them.
func TestCreateTopicWithTheDefaultPolicy(t *testing.T) {
	w := newWorld(t)
	create := func(text string) *CreateTopic {
		return &CreateTopic{Topic: "t", TopicARN: topicARN("t"), Attributes: []Attribute{{Name: "Policy", Value: text}}}
	}
	usual := policy.DefaultTopicAccess(topicARN("t"), "000000000000")
	sorted := strings.Replace(strings.Replace(usual, `"Version":"2008-10-17",`, "", 1), `}]}`, `}], "Version": "2008-10-17"}`, 1)
	other := strings.Replace(usual, "SNS:Publish", "SNS:Receive", 1)
	const differs = "Invalid parameter: Attributes Reason: Topic already exists with different attributes"
	w.createTopic("t")
	w.must(create(usual))
	w.must(create(sorted))
	w.refused(create(other), refusal.SNSInvalidParameter, differs)
	w.must(&SetTopicAttributes{Topic: "t", Attributes: []Attribute{{Name: "Policy", Value: sorted}}})
	w.must(create(usual))
	w.must(&SetTopicAttributes{Topic: "t", Attributes: []Attribute{{Name: "Policy", Value: other}}})
	w.must(create(other))
	w.refused(create(usual), refusal.SNSInvalidParameter, differs)
}

func TestTopicPolicy(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t")
	add := &SetTopicPolicy{Topic: "t", Label: "one", AccountIDs: []string{"111122223333"}, Actions: []string{"Publish"}}
	w.must(add)
	w.refused(add, refusal.SNSInvalidParameter, "Invalid parameter: Statement already exists")
	w.refused(&SetTopicPolicy{Topic: "t", Label: "two", AccountIDs: []string{"1"}, Actions: []string{"SendMessage"}},
		refusal.SNSInvalidParameter, "Invalid parameter: Policy statement action out of service scope!")
	policy := func() string {
		a, err := w.b.View().TypedTopic("t")
		if err != nil {
			t.Fatal(err)
		}
		return a.Policy
	}
	const statement = `,{"Sid":"one","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},` +
		`"Action":"SNS:Publish","Resource":"arn:aws:sns:us-east-1:000000000000:t"}]}`
	if got := policy(); !strings.Contains(got, `"__default_statement_ID"`) || !strings.HasSuffix(got, statement) {
		t.Errorf("policy %s", got)
	}
	w.must(&SetTopicPolicy{Topic: "t", Label: "one", Remove: true})
	w.must(&SetTopicPolicy{Topic: "t", Label: "one", Remove: true})
	w.must(&SetTopicPolicy{Topic: "t", Label: "__default_statement_ID", Remove: true})
	if got := policy(); got != `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[]}` {
		t.Errorf("without statements the policy is %s", got)
	}
}

func TestSubscribe(t *testing.T) {
	w := newWorld(t)
	w.createTopic("t.fifo")
	w.createTopic("plain")
	raw := Attribute{Name: "RawMessageDelivery", Value: "true"}
	first := w.subscribe("t.fifo", "q.fifo", raw)
	if !strings.HasPrefix(first, topicARN("t.fifo")+":") || w.subscribe("t.fifo", "q.fifo") != first ||
		w.subscribe("t.fifo", "q.fifo", raw) != first {
		t.Errorf("subscription %s, and another one when repeated", first)
	}
	again := &Subscribe{Topic: "t.fifo", Endpoint: queueARN("q.fifo"),
		Attributes: []Attribute{{Name: "RawMessageDelivery", Value: "false"}}}
	w.refused(again, refusal.SNSInvalidParameter,
		"Invalid parameter: Attributes Reason: Subscription already exists with different attributes")
	w.subscribe("t.fifo", "standard")
	w.refused(&Subscribe{Topic: "plain", Endpoint: queueARN("q.fifo")}, refusal.SNSInvalidParameter,
		"Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
	w.refused(&Subscribe{Topic: "plain", Endpoint: "http://localhost:9324/000000000000/q"}, refusal.SNSInvalidParameter,
		"Invalid parameter: SQS endpoint ARN")
	w.refused(&Subscribe{Topic: "t.fifo", Endpoint: queueARN("x.fifo"), Attributes: []Attribute{{
		Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + queueARN("dead") + `"}`,
	}}}, refusal.SNSInvalidParameter,
		"Invalid parameter: Attributes Reason: RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.")

	w.must(&SetSubscriptionAttributes{SubscriptionARN: first, Attributes: []Attribute{{Name: "FilterPolicy", Value: `{"k":["a"]}`}}})
	w.refused(&SetSubscriptionAttributes{SubscriptionARN: first, Attributes: []Attribute{{Name: "RawMessageDelivery", Value: "maybe"}}},
		refusal.SNSInvalidParameter, "Invalid parameter: RawMessageDelivery: Invalid value [maybe]. Must be true or false.")
	list, err := w.b.View().SubscriptionAttributes(first)
	want := `[{ConfirmationWasAuthenticated true} {Endpoint ` + queueARN("q.fifo") +
		`} {FilterPolicy {"k":["a"]}} {FilterPolicyScope MessageAttributes} ` +
		`{Owner 000000000000} {PendingConfirmation false} {Protocol sqs} {RawMessageDelivery true} {SubscriptionArn ` + first + `} ` +
		`{SubscriptionPrincipal } {TopicArn ` + topicARN("t.fifo") + `}]`
	if got := fmt.Sprint(list); err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func TestSubscriptionLimit(t *testing.T) {
	w := newWorld(t)
	w.createTopic("a.fifo")
	for i := range limits.SubscriptionsMax - 1 {
		if _, err := w.b.apply(&Subscribe{Topic: "a.fifo", Endpoint: queueARN(fmt.Sprint("q", i, ".fifo"))}); err != nil {
			t.Fatal(err)
		}
	}
	w.subscribe("a.fifo", "last.fifo")
	w.refused(&Subscribe{Topic: "a.fifo", Endpoint: queueARN("more.fifo")}, refusal.SubscriptionLimitExceeded,
		"A topic can have 2000 subscriptions.")
}

func TestSubscriptionsAreListedAndRemoved(t *testing.T) {
	w := newWorld(t)
	w.createTopic("a.fifo")
	w.createTopic("b.fifo")
	var made []string
	for i := range 100 {
		made = append(made, w.subscribe("a.fifo", fmt.Sprint("q", i, ".fifo")))
	}
	made = append(made, w.subscribe("b.fifo", "q0.fifo"))

	var all []string
	after := uint64(0)
	for {
		page := w.b.View().ListSubscriptions(after, 30)
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			all = append(all, s.SubscriptionARN)
		}
		after = page[len(page)-1].Number
	}
	if fmt.Sprint(all) != fmt.Sprint(made) {
		t.Errorf("listed %v, made %v", all, made)
	}
	of, err := w.b.View().ListSubscriptionsByTopic("a.fifo", 0, 40)
	if err != nil || len(of) != 40 {
		t.Fatalf("%d subscriptions of the topic, %v", len(of), err)
	}
	rest, err := w.b.View().ListSubscriptionsByTopic("a.fifo", of[39].Number, 100)
	if err != nil || len(rest) != 60 || rest[0].SubscriptionARN != made[40] {
		t.Errorf("%d more subscriptions of the topic, %v", len(rest), err)
	}
	if _, err := w.b.View().ListSubscriptionsByTopic("none", 0, 1); err == nil || err.Code != refusal.NotFound {
		t.Errorf("subscriptions of no topic: %v", err)
	}

	w.must(&Unsubscribe{SubscriptionARN: made[7]})
	w.must(&Unsubscribe{SubscriptionARN: made[7]})
	counters, _ := w.b.View().TopicAttributes("a.fifo")
	if text := fmt.Sprint(counters); !strings.Contains(text, "{SubscriptionsConfirmed 99} {SubscriptionsDeleted 1}") {
		t.Errorf("after unsubscribing %s", text)
	}
	for text, want := range map[string]string{
		"":                "SubscriptionArn Reason: no value for required parameter",
		"a:b":             "SubscriptionArn Reason: An ARN must have at least 6 elements, not 2",
		topicARN("t"):     "SubscriptionId",
		made[0] + ":more": "SubscriptionId",
	} {
		w.refused(&Unsubscribe{SubscriptionARN: text}, refusal.SNSInvalidParameter, "Invalid parameter: "+want)
	}
}

// A Frozen state keeps its topics during commands.
func TestFrozenTopicsStandStill(t *testing.T) {
	w := newWorld(t)
	w.createTopic("a.fifo")
	gone := w.subscribe("a.fifo", "q.fifo")
	frozen := w.b.Freeze()
	w.must(&Unsubscribe{SubscriptionARN: gone})
	w.subscribe("a.fifo", "other.fifo")
	w.must(&SetTopicTags{Topic: "a.fifo", Set: []Tag{{Key: "k", Value: "v"}}})
	w.createTopic("b.fifo")
	restored, err := restore(frozen)
	if err != nil {
		t.Fatal(err)
	}
	if restored.StateHash() != frozen.StateHash() {
		t.Error("the frozen topics changed")
	}
	w.must(&DeleteTopic{Topic: "a.fifo"})
	w.pass(logtime.Hour)
	w.must(&AdvanceClock{})
}
