package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func (c *client) dataProtection(t *testing.T, topic string) string {
	t.Helper()
	in := &sns.GetDataProtectionPolicyInput{ResourceArn: &topic}
	return aws.ToString(must[*sns.GetDataProtectionPolicyOutput](t)(call(t, c.sns.GetDataProtectionPolicy, in, nil)).DataProtectionPolicy)
}

func TestGetDataProtectionPolicy(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		const policy = `{"Name":"p","Statement":[]}`
		name := unique(t)
		in := &sns.CreateTopicInput{Name: &name, DataProtectionPolicy: aws.String(policy)}
		topic := aws.ToString(must[*sns.CreateTopicOutput](t)(call(t, c.sns.CreateTopic, in, nil)).TopicArn)
		if got := c.dataProtection(t, topic); got != policy {
			t.Errorf("policy %q", got)
		}
		if _, listed := c.topicAttributes(t, topic)["DataProtectionPolicy"]; listed {
			t.Error("the policy is listed as an attribute")
		}
		if got := c.dataProtection(t, c.stdTopic(t, nil)); got != "" {
			t.Errorf("policy %q of a topic without one", got)
		}
		_, got := call(t, c.sns.GetDataProtectionPolicy, &sns.GetDataProtectionPolicyInput{ResourceArn: aws.String(topicARN(unique(t)))},
			nil)
		refused(t, got, "NotFound", "Topic does not exist")
	})
}
