package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestTopicRemovePermission(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, label := c.stdTopic(t, nil), "L"
		remove := func(topic, label string) *refusal {
			_, got := call(t, c.sns.RemovePermission, &sns.RemovePermissionInput{TopicArn: &topic, Label: &label}, nil)
			return got
		}
		in := &sns.AddPermissionInput{TopicArn: &topic, Label: &label, AWSAccountId: []string{"111122223333"},
			ActionName: []string{"Publish"}}
		if _, got := call(t, c.sns.AddPermission, in, nil); got != nil {
			t.Fatal(got)
		}
		for range 2 { // a label that is not there is no error
			if got := remove(topic, label); got != nil {
				t.Fatal(got)
			}
		}
		if policy := c.topicAttributes(t, topic)["Policy"]; strings.Contains(policy, `"L"`) ||
			!strings.Contains(policy, "__default_statement_ID") {
			t.Errorf("policy %s", policy)
		}
		refused(t, remove(topicARN(unique(t)), label), "NotFound", "Topic does not exist")
		refused(t, remove(topic, ""), invalid, "Invalid parameter: Label Reason: no value for required parameter")
	})
}
