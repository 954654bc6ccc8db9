package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func (c *client) tryUntag(t *testing.T, queue string, keys ...string) *refusal {
	t.Helper()
	_, got := call(t, c.sqs.UntagQueue, &sqs.UntagQueueInput{QueueUrl: &queue, TagKeys: keys}, nil)
	return got
}

func TestUntagQueueUnknownKey(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		c.tag(t, queue, map[string]string{"a": "1", "b": "2"})
		if got := c.tryUntag(t, queue, "a", "never set"); got != nil {
			t.Fatalf("refused: %v", got)
		}
		if diff := cmp.Diff(map[string]string{"b": "2"}, c.tags(t, queue)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
	})
}

func TestUntagQueueWithoutKeys(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		refused(t, c.tryUntag(t, c.std(t, nil), []string{}...), "InvalidParameterValue",
			"Tag keys must be between 1 and 128 characters in length.")
	})
}
