package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
)

// tagging is a TagResource with keys and values.
func tagging(topic string, pairs ...string) *sns.TagResourceInput {
	in := &sns.TagResourceInput{ResourceArn: &topic}
	for i := 0; i < len(pairs); i += 2 {
		in.Tags = append(in.Tags, topicTag(pairs[i], pairs[i+1]))
	}
	return in
}

func TestTagResource(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		for _, in := range []*sns.TagResourceInput{tagging(topic, "b", "1", "a", ""), tagging(topic, "b", "2", "B", "3")} {
			if _, got := call(t, c.sns.TagResource, in, nil); got != nil {
				t.Fatal(got)
			}
		}
		if diff := cmp.Diff(map[string]string{"a": "", "b": "2", "B": "3"}, c.topicTags(t, topic)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
	})
}

func TestTagResourceRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		const full = "Could not complete request: tag quota of per resource exceeded"
		topic, unknown := c.stdTopic(t, nil), topicARN(unique(t))
		var fifty []string
		for i := range 50 {
			fifty = append(fifty, fmt.Sprint("k", i), "v")
		}
		_, got := call(t, c.sns.TagResource, tagging(topic, append(fifty, "one", "more")...), nil)
		refused(t, got, "TagLimitExceeded", full)
		_, got = call(t, c.sns.TagResource, tagging(topic, fifty...), nil)
		if got != nil {
			t.Fatalf("50 tags: %v", got)
		}
		_, got = call(t, c.sns.TagResource, tagging(topic, "one", "more"), nil)
		refused(t, got, "TagLimitExceeded", full)
		_, got = call(t, c.sns.TagResource, tagging(topic, "k0", "other"), nil)
		if got != nil || c.topicTags(t, topic)["k0"] != "other" {
			t.Errorf("overwriting a tag: %v", got)
		}
		_, got = call(t, c.sns.TagResource, tagging(topic, "a", "1", "a", "2"), nil)
		refused(t, got, invalid, "Invalid parameter: Duplicated keys are not allowed.")
		_, got = call(t, c.sns.TagResource, &sns.TagResourceInput{ResourceArn: &topic, Tags: []snstypes.Tag{{Value: aws.String("v")}}}, nil)
		refused(t, got, "ValidationError",
			"1 validation error detected: Value null at 'tags.1.member.key' failed to satisfy constraint: Member must not be null")

		_, got = call(t, c.sns.TagResource, tagging(unknown, "a", "1"), nil)
		refused(t, got, "ResourceNotFound", "Resource does not exist")
	})
}
