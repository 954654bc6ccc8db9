package emulator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

// published is the part of the vendor's example that this package reads.
const published = `{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[{"Name":"queue.1","Properties":{
"DeadLetteringOnMessageExpiration":false,"DefaultMessageTimeToLive":"PT1H","DuplicateDetectionHistoryTimeWindow":"PT20S",
"ForwardDeadLetteredMessagesTo":"","ForwardTo":"","LockDuration":"PT1M","MaxDeliveryCount":3,
"RequiresDuplicateDetection":false,"RequiresSession":null}},{"Name":"plain"}],
"Topics":[{"Name":"topic.1","Properties":{"DefaultMessageTimeToLive":"PT1H"},"Subscriptions":[
{"Name":"subscription.1","Properties":{"RequiresSession":true},"Rules":[]},{"Name":"subscription.2","Rules":[{"Name":"r"}]}]}]}],
"Logging":{"Type":"File"}}}`

func TestRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{published, "\uFEFF" + published} {
		got, err := Read(strings.NewReader(text))
		want := Config{Queues: []description.Entity{{Path: "queue.1", Properties: []description.Property{
			{Name: "DeadLetteringOnMessageExpiration", Value: "false"}, {Name: "DefaultMessageTimeToLive", Value: "PT1H"},
			{Name: "DuplicateDetectionHistoryTimeWindow", Value: "PT20S"}, {Name: "LockDuration", Value: "PT1M"},
			{Name: "MaxDeliveryCount", Value: "3"}, {Name: "RequiresDuplicateDetection", Value: "false"},
		}}, {Path: "plain"}}, Topics: []description.Entity{{Path: "topic.1", Properties: []description.Property{
			{Name: "DefaultMessageTimeToLive", Value: "PT1H"},
		}, Subscriptions: []description.Entity{{Path: "subscription.1", Properties: []description.Property{
			{Name: "RequiresSession", Value: "true"},
		}}, {Path: "subscription.2"}}}}, Rules: []string{"topic.1/Subscriptions/subscription.2"}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"":                                      "not valid",
		"{}":                                    "has 0 namespaces",
		`{"UserConfig":{"Namespaces":[{},{}]}}`: "has 2 namespaces",
		strings.Repeat(" ", bytesMax+1):         "too long",
		strings.Replace(published, `"LockDuration":"PT1M"`, `"LockDuration":{}`, 1): "LockDuration must be a text",
		strings.Replace(published, `"plain"`, `"QUEUE.1"`, 1):                       "the queue QUEUE.1 is there twice",
		strings.Replace(published, `"plain"`, `"a b"`, 1):                           `the queue name "a b" is not valid`,
		strings.Replace(published, `"plain"`, `"topic.1"`, 1):                       "the topic topic.1 is there twice",
		strings.Replace(published, `"plain"`, `"t/Subscriptions/s"`, 1):             `the queue name "t/Subscriptions/s" is not valid`,
		strings.Replace(published, `"subscription.2"`, `"SUBSCRIPTION.1"`, 1):       "topic.1/Subscriptions/SUBSCRIPTION.1 is there twice",
		strings.Replace(published, `"subscription.2"`, `"a/b"`, 1):                  `the subscription name "a/b" is not valid`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60s: %v, want %s", text, err, reason)
		}
	}
}
