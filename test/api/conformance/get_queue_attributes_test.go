package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestGetQueueAttributesWithoutNames(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		if got := c.attributes(t, queue); len(got) != 0 {
			t.Errorf("attributes %v, want none", got)
		}
		if c.protocol == protocolJSON {
			postJSON(t, "GetQueueAttributes", object{"QueueUrl": queue}).absent(t, "Attributes")
		}
	})
}

func TestGetQueueAttributesUnknownName(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		in := &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{"Foobar"}}
		_, got := call(t, c.sqs.GetQueueAttributes, in, nil)
		refused(t, got, "InvalidAttributeName", "Unknown Attribute Foobar.")
	})
}

func TestGetQueueAttributesKnownButUnset(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		got := c.attributes(t, queue, "KmsMasterKeyId", "Policy", "RedrivePolicy", "RedriveAllowPolicy")
		if len(got) != 0 {
			t.Errorf("attributes %v, want none", got)
		}
	})
}

func TestGetQueueAttributesByName(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"VisibilityTimeout": "41"})
		want := attrs{"VisibilityTimeout": "41", "QueueArn": arn(queue)}
		if diff := cmp.Diff(want, c.attributes(t, queue, "VisibilityTimeout", "QueueArn")); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
	})
}
