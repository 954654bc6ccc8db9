package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"
)

func TestUntagResource(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		if _, got := call(t, c.sns.TagResource, tagging(topic, "a", "1", "b", "2", "B", "3"), nil); got != nil {
			t.Fatal(got)
		}
		untag := func(topic string, keys ...string) *refusal {
			_, got := call(t, c.sns.UntagResource, &sns.UntagResourceInput{ResourceArn: &topic, TagKeys: keys}, nil)
			return got
		}
		for _, keys := range [][]string{{"b", "unknown", "b"}, {}} {
			if got := untag(topic, keys...); got != nil {
				t.Fatal(got)
			}
			if diff := cmp.Diff(map[string]string{"a": "1", "B": "3"}, c.topicTags(t, topic)); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		}
		refused(t, untag(topicARN(unique(t)), "a"), "ResourceNotFound", "Resource does not exist")
	})
}
