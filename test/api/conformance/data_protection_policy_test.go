package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestDataProtectionPolicy(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		const policy = `{"Name":"p","Statement":[]}`
		get := func(topic string) string {
			t.Helper()
			in := &sns.GetDataProtectionPolicyInput{ResourceArn: &topic}
			return aws.ToString(must[*sns.GetDataProtectionPolicyOutput](t)(call(t, c.sns.GetDataProtectionPolicy, in, nil)).DataProtectionPolicy)
		}
		put := func(topic, text string) *refusal {
			t.Helper()
			_, got := call(t, c.sns.PutDataProtectionPolicy, &sns.PutDataProtectionPolicyInput{ResourceArn: &topic, DataProtectionPolicy: &text}, nil)
			return got
		}
		name := unique(t)
		in := &sns.CreateTopicInput{Name: &name, DataProtectionPolicy: aws.String(policy)}
		topic := aws.ToString(must[*sns.CreateTopicOutput](t)(call(t, c.sns.CreateTopic, in, nil)).TopicArn)
		if got := get(topic); got != policy {
			t.Errorf("policy %q", got)
		}
		if _, listed := c.topicAttributes(t, topic)["DataProtectionPolicy"]; listed {
			t.Error("the policy is listed as an attribute")
		}
		for _, text := range []string{strings.Repeat("x", 30_720), ""} {
			if got := put(topic, text); got != nil || get(topic) != text {
				t.Errorf("a policy of %d characters: %v", len(text), got)
			}
		}
		refused(t, put(topic, strings.Repeat("x", 30_721)), invalid, "Invalid parameter: DataProtectionPolicy Reason: Must be at most 30720 valid characters.")
		refused(t, put(topicARN(unique(t)), policy), "NotFound", "Topic does not exist")
		_, got := call(t, c.sns.PutDataProtectionPolicy, &sns.PutDataProtectionPolicyInput{ResourceArn: &topic}, nil)
		refused(t, got, invalid, "Invalid parameter: DataProtectionPolicy Reason: no value for required parameter")
	})
}
