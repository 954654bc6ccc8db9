package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func (c *client) createTagged(t *testing.T, name string, tags map[string]string) string {
	t.Helper()
	out, got := call(t, c.sqs.CreateQueue, &sqs.CreateQueueInput{QueueName: &name, Tags: tags}, nil)
	return aws.ToString(must[*sqs.CreateQueueOutput](t)(out, got).QueueUrl)
}

func (c *client) tryTag(t *testing.T, queue string, tags map[string]string) *refusal {
	t.Helper()
	_, got := call(t, c.sqs.TagQueue, &sqs.TagQueueInput{QueueUrl: &queue, Tags: tags}, nil)
	return got
}

func (c *client) tag(t *testing.T, queue string, tags map[string]string) {
	t.Helper()
	if got := c.tryTag(t, queue, tags); got != nil {
		t.Fatalf("tag: %v", got)
	}
}

func (c *client) tags(t *testing.T, queue string) map[string]string {
	t.Helper()
	out, got := call(t, c.sqs.ListQueueTags, &sqs.ListQueueTagsInput{QueueUrl: &queue}, nil)
	return must[*sqs.ListQueueTagsOutput](t)(out, got).Tags
}

func TestTagQueueOverwritesAndKeepsLetterCase(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.tag(t, queue, map[string]string{"a": "1"})
		c.tag(t, queue, map[string]string{"a": "2", "A": "3", "empty": ""})
		want := map[string]string{"a": "2", "A": "3", "empty": ""}
		if diff := cmp.Diff(want, c.tags(t, queue)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
	})
}

func TestTagQueueWithoutTags(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		refused(t, c.tryTag(t, c.std(t, nil), nil), "MissingParameter", "The request must contain the parameter Tags.")
	})
}

func TestTagQueueUnknownQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		got := c.tryTag(t, c.missing(t), map[string]string{"a": "1"})
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}
