package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestPutDataProtectionPolicy(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.stdTopic(t, nil)
		put := func(topic, text string) *refusal {
			t.Helper()
			_, got := call(t, c.sns.PutDataProtectionPolicy,
				&sns.PutDataProtectionPolicyInput{ResourceArn: &topic, DataProtectionPolicy: &text}, nil)
			return got
		}
		for _, text := range []string{strings.Repeat("x", 30_720), ""} {
			if got := put(topic, text); got != nil || c.dataProtection(t, topic) != text {
				t.Errorf("a policy of %d characters: %v", len(text), got)
			}
		}
		refused(t, put(topic, strings.Repeat("x", 30_721)), invalid,
			"Invalid parameter: DataProtectionPolicy Reason: Must be at most 30720 valid characters.")
		refused(t, put(topicARN(unique(t)), "{}"), "NotFound", "Topic does not exist")
		_, got := call(t, c.sns.PutDataProtectionPolicy, &sns.PutDataProtectionPolicyInput{ResourceArn: &topic}, nil)
		refused(t, got, invalid, "Invalid parameter: DataProtectionPolicy Reason: no value for required parameter")
	})
}
