package description

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/queue/attributes"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"PT1M": 60, "PT60S": 60, "P1D": day, "P1DT2H3M4S": day + 2*hour + 3*minute + 4, "PT0S": 0, "PT20.000S": 20, "P7D": 7 * day,
		unlimited: secondsMax, "P10675199DT2H48M5.477581S": secondsMax, "P99999999D": secondsMax, "PT9999999999H": secondsMax,
		"PT1000000S": 1_000_000,
	} {
		if got, ok := ParseDuration(text); got != want || !ok {
			t.Errorf("%s is %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "P", "PT", "P1DT", "T1M", "1M", "PT1", "PT1.5S", "P1Y", "P1M", "PT-1S", "-PT1S", "PT1S1M", "PT1M1M", "PT+1S", "PTS", "PT1.S",
		"PT.5S", "PT1 S", "00:01:00", "PT1M ", "PT1.xS", "PT99999999999999999999S",
	} {
		if got, ok := ParseDuration(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
	for seconds, want := range map[int64]string{
		0: "PT0S", 60: "PT1M", 3_600: "PT1H", day: "P1D", day + 61: "P1DT1M1S", secondsMax: unlimited, secondsMax + 1: unlimited,
	} {
		if got := FormatDuration(seconds); got != want {
			t.Errorf("%d is %s, want %s", seconds, got, want)
		}
	}
	if got := FormatTimeSpan(20) + " " + FormatTimeSpan(7*day); got != "00:00:20 7.00:00:00" {
		t.Errorf("got %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(0, secondsMax).Draw(t, "seconds")
		if got, ok := ParseDuration(FormatDuration(seconds)); got != seconds || !ok {
			t.Fatalf("%d is %s, which is %d, %v", seconds, FormatDuration(seconds), got, ok)
		}
	})
}

// TestRoundTrip creates queues with random properties, and reads these again from the attributes.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := drawn(t, "properties")
		made, err := attributes.Create(true, q.Attributes("arn:aws:sqs:us-east-1:000000000000:q-dlq.fifo"), attributes.AnyWindow())
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if got := Of(&made); got != q {
			t.Fatalf("%+v became %+v", q, got)
		}
		var read Queue
		if refused := Queues.SetAll(&read, Queues.List(&q)); len(refused) != 0 {
			t.Fatal(refused)
		}
		if q.ForwardTo.Topic, q.ForwardDeadLetters.Topic = false, false; read != q { // a description does not say so
			t.Fatalf("%+v was read as %+v", q, read)
		}
		q = Of(&made)
		changed := drawn(t, "changes")
		changed.DuplicateDetection, changed.Session, changed.Partitioned = q.DuplicateDetection, q.Session, q.Partitioned
		if wrong := Queues.CheckFixed(&changed, &q); wrong != nil {
			t.Fatal(wrong)
		}
		list := changed.Changes(q, "arn:aws:sqs:us-east-1:000000000000:q-dlq.fifo")
		after, err := made.WithChanges(list, attributes.AnyWindow())
		if err != nil || Of(&after) != changed {
			t.Fatalf("%+v with %v became %+v, %v, want %+v", q, list, Of(&after), err, changed)
		}
	})
}

func drawn(t *rapid.T, label string) Queue {
	on := rapid.Bool()
	return Queue{
		LockSeconds:        rapid.Int64Range(1, 12*hour).Draw(t, label),
		DuplicateDetection: on.Draw(t, label), Session: on.Draw(t, label),
		TimeToLiveSeconds: rapid.SampledFrom([]int64{1, hour, secondsMax}).Draw(t, label),
		DeadLetterExpired: on.Draw(t, label),
		WindowSeconds:     rapid.Int64Range(20, 7*day).Draw(t, label),
		MaxDeliveryCount:  rapid.SampledFrom([]int64{1, 3, 10, 1000}).Draw(t, label),
		Partitioned:       on.Draw(t, label), Status: attributes.Status(rapid.Uint8Range(0, 3).Draw(t, label)),
		MessageKilobytes:   rapid.Int64Range(1, kilobytesMax).Draw(t, label),
		SizeMegabytes:      rapid.SampledFrom([]int64{1, 1024, megabytesMax}).Draw(t, label),
		ForwardTo:          forwards.Draw(t, label),
		ForwardDeadLetters: forwards.Draw(t, label),
		IdleSeconds:        idle.Draw(t, label),
	}
}

var idle = rapid.SampledFrom([]int64{0, idleSecondsMin, idleSecondsMax - 1})

var forwards = rapid.SampledFrom([]Forward{{}, {"orders", false}, {"eu/all.v2-dlq", false}, {"news", true}})

// TestQueuesOfOthers reads and changes a queue that no Service Bus client made.
func TestQueuesOfOthers(t *testing.T) {
	t.Parallel()
	plain := attributes.Default(true)
	q := Of(&plain)
	want := Queue{LockSeconds: 30, DuplicateDetection: true, Session: true, TimeToLiveSeconds: 4 * day, WindowSeconds: 300,
		MaxDeliveryCount: deliveriesUnlimited, MessageKilobytes: 1024}
	if q != want {
		t.Fatalf("got %+v", q)
	}
	if list := q.Changes(q, "arn"); len(list) != 0 {
		t.Errorf("no change gives %v", list)
	}
	changed := q
	changed.MaxDeliveryCount = 3
	list := changed.Changes(q, "arn")
	const policy = `{"deadLetterTargetArn":"arn","maxReceiveCount":3}`
	if len(list) != 2 || list[0].Name != "ImplicitDeadLetterQueue" || list[1].Value != policy {
		t.Errorf("got %v", list)
	}
	changed.MaxDeliveryCount = deliveriesDefault
	if list = changed.Changes(q, "arn"); len(list) != 2 || list[1].Value != "" {
		t.Errorf("got %v", list)
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, value, text string }{
		{"LockDuration", "PT0S",
			"The value supplied must be between 00:00:01 and 12:00:00.\nParameter name: LockDuration\nActual value was 00:00:00."},
		{"LockDuration", "1 minute", "in the form of ISO 8601"},
		{"LockDuration", "PT1.5S", "whole seconds"},
		{"DuplicateDetectionHistoryTimeWindow", "P8D", "and 7.00:00:00.\nParameter name: DuplicateDetectionHistoryTimeWindow"},
		{"RequiresSession", "maybe", "must be true or false"},
		{"MaxDeliveryCount", "0", "between 1 and 1000"},
		{"MaxMessageSizeInKilobytes", "1025", "between 1 and 1024"},
		{"Colour", "red", "There is no property Colour."},
		{"ForwardTo", "a//b", "The property ForwardTo cannot be 'a//b' here. It must be the path or the URL of a queue or a topic."},
		{"ForwardTo", "sb://h/news/Subscriptions/all", "of a queue or a topic."},
		{"ForwardDeadLetteredMessagesTo", "https://h/", "of a queue or a topic."},
		{"ForwardDeadLetteredMessagesTo", "https://h/%zz", "of a queue or a topic."},
		{"Status", "Restoring",
			"The property Status cannot be 'Restoring' here. It must be one of Active, Disabled, SendDisabled, ReceiveDisabled."},
		{"AutoDeleteOnIdle", "PT4M59S", "between 00:05:00 and"},
		{"AutoDeleteOnIdle", "never", "in the form of ISO 8601"},
		{"MaxSizeInMegabytes", "0", "between 1 and 1048576"},
		{"EnableBatchedOperations", "false", "It must be true."},
		{"EnableExpress", "true", "It must be false."},
		{"UserMetadata", "x", "It must be empty."},
	} {
		q := Default()
		err := Queues.Set(&q, tc.name, tc.value)
		var refused *Refused
		if !errors.As(err, &refused) || refused.Property != tc.name || !strings.Contains(refused.Text, tc.text) || q != Default() {
			t.Errorf("%s=%s: %v, %+v", tc.name, tc.value, err, q)
		}
	}
	for name, value := range map[string]string{
		"AutoDeleteOnIdle": "P10675199DT2H48M5.477581S", "EnableExpress": "False", "MaxSizeInMegabytes": "1024", "ForwardTo": "",
		"SizeInBytes": "17", "Status": "active", "RequiresSession": "0",
	} {
		q := Default()
		if err := Queues.Set(&q, name, value); err != nil || q != Default() {
			t.Errorf("%s=%s: %v, %+v", name, value, err, q)
		}
	}
}

func TestFixedProperties(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"RequiresDuplicateDetection", "RequiresSession", "EnablePartitioning"} {
		q := Default()
		if err := Queues.Set(&q, name, "true"); err != nil || Queues.Get(&q, name) != "true" {
			t.Fatal(err)
		}
		err := Queues.CheckFixed(&q, new(Default()))
		if err == nil || err.Error() != "The value for the "+name+" property of an existing Queue can't be changed." {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeadLetterAttributes(t *testing.T) {
	t.Parallel()
	q := Default()
	made, err := attributes.Create(true, q.DeadLetterAttributes(), attributes.AnyWindow())
	if err != nil || made.Retention() != 0 || made.TimeToLive(0) != 0 || !made.GroupOptional || made.VisibilitySeconds != 60 {
		t.Errorf("got %+v, %v", made, err)
	}
}

func TestEntity(t *testing.T) {
	t.Parallel()
	e := Entity{Path: "q", Properties: []Property{{"LockDuration", "PT5S"}, {"ForwardTo", "a b"}, {"RequiresSession", "true"}}}
	want := Default()
	want.LockSeconds, want.Session = 5, true
	if q, refused := e.Queue(); q != want || len(refused) != 1 || refused[0].Property != "ForwardTo" {
		t.Errorf("got %+v, %v", q, refused)
	}
}

// TestForwards reads targets.
func TestForwards(t *testing.T) {
	t.Parallel()
	for value, path := range map[string]string{
		"orders": "orders", "/eu/Orders.1/": "eu/Orders.1", "sb://h:5671/eu/orders": "eu/orders",
		"https://h.example/orders/?api-version=1": "orders", "": "",
	} {
		q := Default()
		if err := Queues.Set(&q, "ForwardTo", value); err != nil || q.ForwardTo != (Forward{Path: path}) || q.Forwards() != (path != "") {
			t.Errorf("%s: %v, %+v", value, err, q)
		}
	}
}

// TestInOrder orders queues, also those whose targets are missing or go in a circle.
func TestInOrder(t *testing.T) {
	t.Parallel()
	queues := []Entity{
		{Path: "a", Properties: []Property{{"ForwardTo", "C"}}},
		{Path: "b", Properties: []Property{{"ForwardDeadLetteredMessagesTo", "sb://h/a"}, {"ForwardTo", "none"}}},
		{Path: "c", Properties: []Property{{"ForwardTo", "d"}}},
		{Path: "d", Properties: []Property{{"ForwardTo", "a"}}},
		{Path: "e", Properties: []Property{{"ForwardTo", "a b"}}},
	}
	var got []string
	for _, e := range InOrder(queues) {
		got = append(got, e.Path)
	}
	if !slices.Equal(got, []string{"d", "c", "a", "b", "e"}) {
		t.Errorf("got %v", got)
	}
}

// TestTopicRoundTrip is TestRoundTrip for topics.
func TestTopicRoundTrip(t *testing.T) {
	t.Parallel()
	on, window := rapid.Bool(), rapid.Int64Range(20, 7*day)
	ttl, size := rapid.SampledFrom([]int64{1, hour, secondsMax}), rapid.SampledFrom([]int64{1, 1024, megabytesMax})
	rapid.Check(t, func(t *rapid.T) {
		topic := Topic{ttl.Draw(t, "ttl"), on.Draw(t, "detection"), window.Draw(t, "window"), on.Draw(t, "partitioned"),
			attributes.Status(rapid.Uint8Range(0, 2).Draw(t, "status")), size.Draw(t, "size"), idle.Draw(t, "idle")}
		made, err := attributes.CreateTopic(true, topic.Attributes(), attributes.AnyWindow())
		if err != nil {
			t.Fatalf("%+v: %v", topic, err)
		}
		if got := TopicOf(&made); got != topic || !made.GroupOptional {
			t.Fatalf("%+v became %+v", topic, got)
		}
		var read Topic
		if refused := Topics.SetAll(&read, Topics.List(&topic)); len(refused) != 0 || read != topic {
			t.Fatalf("%+v was read as %+v, %v", topic, read, refused)
		}
		changed := topic
		changed.IdleSeconds = idle.Draw(t, "idle")
		changed.TimeToLiveSeconds, changed.WindowSeconds = ttl.Draw(t, "ttl"), window.Draw(t, "window")
		changed.Status, changed.SizeMegabytes = attributes.Status(rapid.Uint8Range(0, 2).Draw(t, "status")), size.Draw(t, "size")
		if wrong := Topics.CheckFixed(&changed, &topic); wrong != nil {
			t.Fatal(wrong)
		}
		after, err := made.WithChanges(changed.Changes(topic), attributes.AnyWindow())
		if err != nil || TopicOf(&after) != changed {
			t.Fatalf("%+v became %+v, %v, want %+v", topic, TopicOf(&after), err, changed)
		}
	})
}

func TestTopicsAndSubscriptionsRefuse(t *testing.T) {
	t.Parallel()
	topic, q := DefaultTopic(), Default()
	for name, value := range map[string]string{
		"Status": "ReceiveDisabled", "UserMetadata": "x", "AutoDeleteOnIdle": "PT1M", "EnableExpress": "true", "Colour": "red",
		"LockDuration":    "PT1M",
		"RequiresSession": "true", "MaxMessageSizeInKilobytes": "256",
	} {
		if err := Topics.Set(&topic, name, value); err == nil || topic != DefaultTopic() {
			t.Errorf("%s=%s: %v, %+v", name, value, err, topic)
		}
	}
	for name, value := range map[string]string{
		"ForwardTo": "a//b", "RequiresDuplicateDetection": "true", "EnablePartitioning": "true", "Status": "SendDisabled",
		"DeadLetteringOnFilterEvaluationExceptions": "no", "MaxSizeInMegabytes": "1024",
	} {
		if err := Subscriptions.Set(&q, name, value); err == nil || q != Default() {
			t.Errorf("%s=%s: %v, %+v", name, value, err, q)
		}
	}
	for name, value := range map[string]string{"SupportOrdering": "false", "SubscriptionCount": "7", "Status": "Active"} {
		if err := Topics.Set(&topic, name, value); err != nil {
			t.Error(err)
		}
	}
	const faulty = "DeadLetteringOnFilterEvaluationExceptions"
	for _, value := range []string{"false", "true"} {
		err := Subscriptions.Set(&q, faulty, value)
		if err != nil || q.DropFaulty != (value == "false") || Subscriptions.Get(&q, faulty) != value {
			t.Errorf("%s: %v, %+v", value, err, q)
		}
	}
	standard := attributes.DefaultTopic(true)
	if got := TopicOf(&standard); got != (Topic{TimeToLiveSeconds: secondsMax, DuplicateDetection: true, WindowSeconds: 300}) {
		t.Errorf("got %+v", got)
	}
}
