package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestTopicAddPermission(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		add := func(label string, actions ...string) *refusal {
			in := &sns.AddPermissionInput{TopicArn: &topic, Label: &label, AWSAccountId: []string{"111122223333"}, ActionName: actions}
			_, got := call(t, c.sns.AddPermission, in, nil)
			return got
		}
		if got := add("L", "Publish", "Subscribe"); got != nil {
			t.Fatal(got)
		}
		statement := `{"Sid":"L","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":["SNS:Publish","SNS:Subscribe"],"Resource":"` + topic + `"}`
		policy := c.topicAttributes(t, topic)["Policy"]
		if !strings.Contains(policy, statement) || !strings.Contains(policy, "__default_statement_ID") {
			t.Errorf("policy %s", policy)
		}
		refused(t, add("L", "Publish"), invalid, "Invalid parameter: Statement already exists")
		refused(t, add("M", "SendMessage"), invalid, "Invalid parameter: Policy statement action out of service scope!")
		refused(t, add("M"), invalid, "Invalid parameter: ActionName")
		refused(t, add("", "Publish"), invalid, "Invalid parameter: Label Reason: no value for required parameter")
	})
}
