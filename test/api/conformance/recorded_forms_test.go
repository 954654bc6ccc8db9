package conformance

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// posted sends a form of the Query protocol that SDKs would refuse.
func (c *client) posted(t *testing.T, version string, parameters ...string) (status int, body string) {
	t.Helper()
	form := url.Values{"Version": {version}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	got := rawRequest{
		header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body: form.Encode(),
		host: strings.TrimPrefix(c.cluster.Endpoint(), "http://"),
	}.do(t)
	return got.status, string(got.body)
}

// Versions of the two APIs.
const sqsVersion, snsVersion = "2012-11-05", "2010-03-31"

// The Java SDKs of the Query era send the tags of TagQueue under the name of the member.
func TestTagsUnderTheNameOfTheirMember(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		name := queue[strings.LastIndex(queue, "/")+1:]
		if status, body := c.posted(t, sqsVersion, "Action", "TagQueue", "QueueUrl", queue, "Tags.1.Key", "a", "Tags.1.Value",
			"b"); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		other := "tags-" + name
		if status, body := c.posted(t, sqsVersion, "Action", "CreateQueue", "QueueName", other, "Attribute.1.Name", "FifoQueue",
			"Attribute.1.Value", "true",
			"Tags.1.Key", "a", "Tags.1.Value", "b"); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		for _, url := range []string{queue, strings.TrimSuffix(queue, name) + other} {
			out, err := c.sqs.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
			if err != nil || out.Tags["a"] != "b" {
				t.Errorf("%s: %v %v", url, out, err)
			}
		}
		status, body := c.posted(t, sqsVersion, "Action", "TagQueue", "QueueUrl", queue, "Tag.1.Key", "AWS:x", "Tag.1.Value", "b")
		if status != http.StatusBadRequest || !strings.Contains(body, "reserved") {
			t.Errorf("a reserved key: %d %s", status, body)
		}
	})
}

// Answers that were recorded at SNS.
func TestRecordedRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		fifo, standard := c.fifoTopic(t, nil), c.stdTopic(t, nil)
		absent := standard + "-absent"
		entry := "PublishBatchRequestEntries.member.1."
		for _, test := range []struct {
			name, text string
			status     int
			parameters []string
		}{
			{"empty TopicArn", "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1", 400,
				[]string{"Action", "Publish", "TopicArn", "", "Message", "x"}},
			{"a structure is looked at before the group id", "Message Structure - No default entry in JSON message body", 400, []string{
				"Action", "PublishBatch", "TopicArn", fifo, entry + "Id", "1", entry + "Message", `{"sqs":"x"}`, entry + "MessageStructure",
				"json",
			}},
			{"a topic is looked for before the entries of a batch", "Topic does not exist", 404, []string{
				"Action", "PublishBatch", "TopicArn", absent, entry + "Id", "1", entry + "Message", "",
			}},
			{"an attribute without a type",
				"Value null at 'messageAttributes.a.member.dataType' failed to satisfy constraint: Member must not be null", 400, []string{
					"Action", "Publish", "TopicArn", standard, "Message", "x", "MessageAttributes.entry.1.Name", "a",
					"MessageAttributes.entry.1.Value.StringValue", "v",
				}},
			{"a type that ends in a dot", "has an invalid message attribute type", 400, []string{
				"Action", "Publish", "TopicArn", standard, "Message", "x", "MessageAttributes.entry.1.Name", "a",
				"MessageAttributes.entry.1.Value.DataType", "String.", "MessageAttributes.entry.1.Value.StringValue", "v",
			}},
			{"email to an unknown topic", "Topic does not exist", 404,
				[]string{"Action", "Subscribe", "TopicArn", absent, "Protocol", "email", "Endpoint", "a@example.invalid"}},
			{"email", "Invalid protocol type: email", 400,
				[]string{"Action", "Subscribe", "TopicArn", standard, "Protocol", "email", "Endpoint", "a@example.invalid"}},
			{"a token that is none", "Invalid token", 400, []string{"Action", "ConfirmSubscription", "TopicArn", standard, "Token", "x"}},
			{"a reserved tag", "reserved", 400,
				[]string{"Action", "TagResource", "ResourceArn", standard, "Tags.member.1.Key", "aws:x", "Tags.member.1.Value", "v"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				status, body := c.posted(t, snsVersion, test.parameters...)
				if body = strings.ReplaceAll(body, "&#39;", "'"); status != test.status || !strings.Contains(body, test.text) {
					t.Errorf("%d %s, want %d %s", status, body, test.status, test.text)
				}
			})
		}
	})
}

// Terraform removes an ArchivePolicy by an empty text.
func TestEmptyArchivePolicy(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, map[string]string{"ArchivePolicy": `{"MessageRetentionPeriod":"1"}`})
		if _, err := c.sns.SetTopicAttributes(t.Context(), &sns.SetTopicAttributesInput{
			TopicArn: &topic, AttributeName: aws.String("ArchivePolicy"), AttributeValue: aws.String(""),
		}); err != nil {
			t.Fatal(err)
		}
		harness.Check(t, harness.Err(c.sns.DeleteTopic(t.Context(), &sns.DeleteTopicInput{TopicArn: &topic})))
	})
}
