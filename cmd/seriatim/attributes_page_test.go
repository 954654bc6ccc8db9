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
	examples           map[string]string // values, for rows without a number, a word or a flag
}

var attributePages = []attributePage{
	{
		file: "queue-attributes.md", title: "Queue attributes", kind: "Queues", service: "SQS", rows: attributes.Describe(),
		intro: "Set them with any client of the SQS API, or with the tool:\n\n" +
			"```sh\nseriatim queue create orders.fifo --attribute VisibilityTimeout=60\n" +
			"seriatim queue update orders.fifo --attribute DeduplicationWindowSeconds=3600\nseriatim queue show orders.fifo\n```\n",
		examples: map[string]string{
			"AutoDeleteOnIdleSeconds":     "3600",
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
		examples: map[string]string{
			"AutoDeleteOnIdleSeconds":    "3600",
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
		examples: map[string]string{
			"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":10,"minDelayTarget":1,"maxDelayTarget":60}}`,
			"FilterPolicy":   `{"amount":[{"numeric":[">",1000]}]}`,
			"RedrivePolicy":  `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo"}`,
			"ReplayPolicy":   `{"PointType":"Timestamp","StartingPoint":"2026-12-01T00:00:00.000Z"}`,
		},
	},
}

// text returns the page.
func (p *attributePage) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\nFixed attributes can be given at creation only. Attributes of the service "+
		"`seriatim` are extensions: AWS does not have them.\n"+
		"`make generate` writes this page from the table of attributes.\n\n"+
		"| Name | %s | Values | Default | Service | Example | |\n| --- | --- | --- | --- | --- | --- | --- |\n", p.title, p.intro, p.kind)
	for _, a := range p.rows {
		if strings.Contains(a.Name, "Feedback") {
			continue // the introduction describes all of them
		}
		kind, service, does, preset := "all", p.service, a.Does, cmp.Or(a.Default, "none")
		if a.FIFO {
			kind = "FIFO"
		}
		if a.Extension {
			service = "seriatim"
		}
		if a.Fixed {
			does = "Fixed. " + does
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
		compareGenerated(t, docsDir+"/reference/"+p.file, p.text())
	}
}
