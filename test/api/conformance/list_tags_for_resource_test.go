package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func (c *client) topicTags(t *testing.T, topic string) map[string]string {
	t.Helper()
	out := must[*sns.ListTagsForResourceOutput](t)(call(t, c.sns.ListTagsForResource, &sns.ListTagsForResourceInput{ResourceArn: &topic},
		nil))
	tags := map[string]string{}
	for _, tag := range out.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

func TestListTagsForResource(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		if tags := c.topicTags(t, c.stdTopic(t, nil)); len(tags) != 0 {
			t.Errorf("tags %v", tags)
		}
		list := func(resource *string) *refusal {
			_, got := call(t, c.sns.ListTagsForResource, &sns.ListTagsForResourceInput{ResourceArn: resource}, nil)
			return got
		}
		refused(t, list(aws.String(topicARN(unique(t)))), "ResourceNotFound", "Resource does not exist")
		refused(t, list(aws.String("x")), invalid, "Invalid parameter: ResourceArn Reason: An ARN must have at least 6 elements, not 1")
		refused(t, list(nil), invalid, "Invalid parameter: ResourceArn Reason: no value for required parameter")
	})
}
