package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestListQueueTagsOfNone(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		if got := c.tags(t, queue); got != nil {
			t.Errorf("tags %v, want none", got)
		}
		if c.protocol == protocolJSON {
			answer := postJSON(t, "ListQueueTags", object{"QueueUrl": queue})
			answer.absent(t, "Tags")
		}
	})
}

func TestListQueueTagsUnknownQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.missing(t)
		_, got := call(t, c.sqs.ListQueueTags, &sqs.ListQueueTagsInput{QueueUrl: &queue}, nil)
		refused(t, got, "AWS.SimpleQueueService.NonExistentQueue", c.unknownQueueText())
	})
}
