package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

// TestListTopicsPages makes 120 topics, beside those of other tests.
func TestListTopicsPages(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		missing := map[string]bool{}
		name := unique(t)
		for i := range 120 {
			missing[c.createTopic(t, fmt.Sprintf("%s-%d", name, i), nil)] = true
		}
		seen := map[string]bool{}
		var token *string
		for page := 0; ; page++ {
			out := must[*sns.ListTopicsOutput](t)(call(t, c.sns.ListTopics, &sns.ListTopicsInput{NextToken: token}, nil))
			for _, topic := range out.Topics {
				listed := aws.ToString(topic.TopicArn)
				if seen[listed] {
					t.Errorf("%s twice", listed)
				}
				seen[listed] = true
				delete(missing, listed)
			}
			if token = out.NextToken; token == nil {
				break
			}
			if len(out.Topics) != 100 {
				t.Errorf("page %d has %d topics", page, len(out.Topics))
			}
		}
		if len(missing) != 0 {
			t.Errorf("not listed: %v", missing)
		}
		_, got := call(t, c.sns.ListTopics, &sns.ListTopicsInput{NextToken: aws.String("bm8gdG9rZW4")}, nil)
		refused(t, got, invalid, "Invalid parameter: NextToken")
	})
}
