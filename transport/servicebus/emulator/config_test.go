package emulator

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

// published is the part of the vendor's example that this package reads.
const published = `{"UserConfig":{"Namespaces":[{"Name":"sbemulatorns","Queues":[{"Name":"queue.1","Properties":{
"DeadLetteringOnMessageExpiration":false,"DefaultMessageTimeToLive":"PT1H","DuplicateDetectionHistoryTimeWindow":"PT20S",
"ForwardDeadLetteredMessagesTo":"","ForwardTo":"","LockDuration":"PT1M","MaxDeliveryCount":3,
"RequiresDuplicateDetection":false,"RequiresSession":null}},{"Name":"plain"}],
"Topics":[{"Name":"topic.1","Properties":{"DefaultMessageTimeToLive":"PT1H"},"Subscriptions":[
{"Name":"subscription.1","Properties":{"RequiresSession":true},"Rules":[]},{"Name":"subscription.2","Rules":[
{"Name":"app-prop-filter-1","Properties":{"FilterType":"Correlation","CorrelationFilter":{"ContentType":"application/text",
"CorrelationId":"id1","Label":"subject1","MessageId":"msgid1","ReplyTo":"someQueue","ReplyToSessionId":"sessionId",
"SessionId":"session1","To":""}}},
{"Name":"user-prop-filter-1","Properties":{"FilterType":"Correlation","CorrelationFilter":{"Properties":{"prop1":"value1",
"n":5,"f":1.5,"b":true,"none":null}}}},
{"Name":"sql","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"sys.MessageId = '123456' AND userProp1='Value1'"},
"Action":{"SqlExpression":"SET sys.To = 'Entity'"}}}]}]}]}],
"Logging":{"Type":"File"}}}`

func condition(name, value string) rules.Parameter {
	return rules.NewParameter(name, property.String(value))
}

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
		}}, {Path: "subscription.2", Rules: []rules.Definition{
			{Name: "app-prop-filter-1", Kind: rules.KindCorrelation, System: []rules.Parameter{
				condition("ContentType", "application/text"), condition("CorrelationId", "id1"), condition("Label", "subject1"),
				condition("MessageId", "msgid1"),
				condition("ReplyTo", "someQueue"), condition("ReplyToSessionId", "sessionId"), condition("SessionId", "session1"),
			}},
			{Name: "user-prop-filter-1", Kind: rules.KindCorrelation, Application: []rules.Parameter{
				rules.NewParameter("b", property.Boolean(true)), rules.NewParameter("f", property.DoubleBits(0x3FF8000000000000)),
				rules.NewParameter("n", property.Long(5)), condition("prop1", "value1"),
			}},
			{Name: "sql", Kind: rules.KindSQL, SQL: &rules.Expression{Text: "sys.MessageId = '123456' AND userProp1='Value1'"},
				Action: &rules.Expression{Text: "SET sys.To = 'Entity'"}},
		}}}}}}
		if err == nil {
			for i := range got.Topics[0].Subscriptions[1].Rules { // of maps
				d := &got.Topics[0].Subscriptions[1].Rules[i]
				for _, list := range [][]rules.Parameter{d.System, d.Application} {
					slices.SortFunc(list, func(a, b rules.Parameter) int { return strings.Compare(a.Name, b.Name) })
				}
			}
		}
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
		strings.Replace(published, `"sql"`, `"USER-prop-filter-1"`, 1):              "subscription.2: it is there twice",
		strings.Replace(published, `"Sql"`, `"Regex"`, 1):                           `the FilterType "Regex" is unknown`,
		strings.Replace(published, `"SqlFilter"`, `"Other"`, 1):                     "SqlFilter is missing",
		strings.Replace(published, `AND userProp1`, `AND`, 1):                       "the rule sql of",
		strings.Replace(published, `"ContentType":`, `"Colour":`, 1):                "the system property Colour is unknown",
		strings.Replace(published, `"id1"`, `1`, 1):                                 "CorrelationId must be a text",
		strings.Replace(published, `"n":5`, `"n":[]`, 1):                            "the property n must be a text",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%.60s: %v, want %s", text, err, reason)
		}
	}
}
