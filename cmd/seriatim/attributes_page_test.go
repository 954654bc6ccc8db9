package main

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/attributes"
)

// An attributePage is a generated page of the reference, about the attributes of queues, topics, or
// subscriptions.
type attributePage struct {
	file, title, intro string
	kind               string // of the objects, FIFO or all
	service            string
	rows               []attributes.Described
	does               map[string]string // for rows without an explanation of their own
	examples           map[string]string // values, for rows without a number, a word or a flag
}

var attributePages = []attributePage{
	{
		file: "queue-attributes.md", title: "Queue attributes", kind: "Queues", service: "SQS", rows: attributes.Describe(),
		intro: "Set them with any client of the SQS API, or with the tool:\n\n" +
			"```sh\nseriatim queue create orders.fifo --attribute VisibilityTimeout=60\n" +
			"seriatim queue update orders.fifo --attribute DeduplicationWindowSeconds=3600\nseriatim queue show orders.fifo\n```\n",
		examples: map[string]string{
			"DeduplicationWindowSeconds":  "3600",
			"KmsMasterKeyId":              "alias/aws/sqs",
			"Policy":                      `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}]}`,
			"ReceiveAttemptWindowSeconds": "600",
			"RedriveAllowPolicy":          `{"redrivePermission":"denyAll"}`,
			"RedrivePolicy":               `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":5}`,
		},
	},
	{
		file: "topic-attributes.md", title: "Topic attributes", kind: "Topics", service: "SNS", rows: attributes.DescribeTopics(),
		intro: "Set them with any client of the SNS API, or with the tool:\n\n" +
			"```sh\nseriatim topic create sales.fifo --attribute FifoThroughputScope=MessageGroup\n" +
			"seriatim topic set sales.fifo ContentBasedDeduplication=true\nseriatim topic show sales.fifo\n```\n\n" +
			"The attributes `...FeedbackRoleArn` and `...FeedbackSampleRate` are stored and listed for AWS clients. They have no effect.\n",
		does: map[string]string{
			"ArchivePolicy": "Keeps published messages for a number of days, so that a subscription can " +
				"replay them. `{}` removes the archive.",
			"ContentBasedDeduplication":  "Takes the SHA-256 of the message as the deduplication id of a message that has none.",
			"ContentDeduplicationMode":   "With `IdAndContent`, a message is a duplicate if its id or its content repeats.",
			"DataProtectionPolicy":       "Stored and returned for AWS clients.",
			"DeduplicationWindowSeconds": "Seconds for which the topic remembers the id of an accepted message.",
			"DeliveryPolicy": "Says how often and how fast deliveries to HTTP subscribers are repeated, unless their " +
				"subscription says so.",
			"DisplayName":         "Stored and returned for AWS clients. It has at most 100 characters.",
			"FifoThroughputScope": "Says within which messages an id must not repeat: those of the topic, or of the message group.",
			"FifoTopic":           "Makes a FIFO topic. Its name ends in `.fifo`.",
			"KmsMasterKeyId":      "Refused, because there are no keys of KMS. With `accept-kms-keys` it is stored and ignored.",
			"Policy":              "The access policy of the topic.",
			"SignatureVersion":    "Stored and returned for AWS clients. Messages are not signed.",
			"TracingConfig":       "Stored and returned for AWS clients.",
		},
		examples: map[string]string{
			"ArchivePolicy":              `{"MessageRetentionPeriod":"30"}`,
			"DataProtectionPolicy":       `{"Name":"none","Version":"2021-06-01","Statement":[]}`,
			"DeduplicationWindowSeconds": "3600",
			"DeliveryPolicy":             `{"http":{"defaultHealthyRetryPolicy":{"numRetries":10,"minDelayTarget":1,"maxDelayTarget":60}}}`,
			"DisplayName":                "Sales",
			"KmsMasterKeyId":             "alias/aws/sns",
			"Policy":                     `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sns:Publish","Resource":"*"}]}`,
		},
	},
	{
		file: "subscription-attributes.md", title: "Subscription attributes", kind: "Topics", service: "SNS",
		rows: attributes.DescribeSubscriptions(),
		intro: "Set them with any client of the SNS API, or when you subscribe with the tool:\n\n" +
			"```sh\nseriatim topic subscribe sales.fifo fraud.fifo --attribute 'FilterPolicy={\"amount\":[{\"numeric\":[\">\",1000]}]}'\n" +
			"seriatim topic subscriptions sales.fifo -o json\n```\n",
		does: map[string]string{
			"DeliveryPolicy":     "Says how often and how fast deliveries are repeated. HTTP subscribers only.",
			"FilterPolicy":       "Delivers only messages that match. `{}` matches all.",
			"FilterPolicyScope":  "Says whether the filter looks at message attributes or at a body in JSON.",
			"RawMessageDelivery": "With `true`, the body is the message as published. Otherwise it is an envelope in JSON.",
			"RedrivePolicy":      "Names the queue for messages that cannot be delivered.",
			"ReplayPolicy":       "Starts a replay of the archive of the topic. `{}` ends it.",
		},
		examples: map[string]string{
			"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":10,"minDelayTarget":1,"maxDelayTarget":60}}`,
			"FilterPolicy":   `{"amount":[{"numeric":[">",1000]}]}`,
			"RedrivePolicy":  `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo"}`,
			"ReplayPolicy":   `{"PointType":"Timestamp","StartingPoint":"2026-12-01T00:00:00.000Z"}`,
		},
	},
}

func (p *attributePage) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\nFixed attributes can be given at creation only. Attributes of the service "+
		"`seriatim` are extensions: AWS does not have them.\n"+
		"`make generate` writes this page from the table of attributes.\n\n"+
		"| Name | %s | Values | Default | Service | Example | |\n| --- | --- | --- | --- | --- | --- | --- |\n", p.title, p.intro, p.kind)
	for _, a := range p.rows {
		if strings.Contains(a.Name, "Feedback") {
			continue // the introduction describes all of them
		}
		kind, service, does, preset := "all", p.service, cmp.Or(a.Does, p.does[a.Name]), cmp.Or(a.Default, "none")
		if a.Name == "FifoTopic" { // the table has the defaults of a FIFO topic
			preset = "none"
		}
		if a.FIFO {
			kind = "FIFO"
		}
		if a.Extension || p.service == "SNS" && (a.Name == "ContentDeduplicationMode" || a.Name == "DeduplicationWindowSeconds") {
			service = "seriatim"
		}
		if a.Fixed {
			does = "Fixed. " + does
		}
		if does == "" {
			t.Errorf("%s does not say what %s does", p.file, a.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` | %s |\n", a.Name, kind, a.Values, preset, service,
			cmp.Or(p.examples[a.Name], exampleOf(a.Values)), does)
	}
	return b.String()
}

// exampleOf returns the last of the values that a row lists.
func exampleOf(values string) string {
	words := strings.FieldsFunc(values, func(r rune) bool { return r == ' ' || r == ',' })
	if strings.HasPrefix(values, "true or") {
		return "true"
	}
	return words[len(words)-1]
}

// TestAttributePages compares the pages of attributes with their tables; -update writes them.
func TestAttributePages(t *testing.T) {
	for i := range attributePages {
		p := &attributePages[i]
		compareGenerated(t, docsDir+"/reference/"+p.file, p.text(t))
	}
}
