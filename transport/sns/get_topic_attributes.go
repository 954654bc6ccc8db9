package sns

import (
	"context"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/transport/aws"
)

// getTopicAttributes lists all attributes of a topic that have a value, with the defaults
// that SNS shows.
func getTopicAttributes(ctx context.Context, c *aws.Call, _ *topicOnlyInput) (*attributesOutput, error) {
	var listed []queue.Attribute
	var topicARN string
	err := c.Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		if topicARN, refused = v.TopicARN(c.Resource.Topic); refused != nil {
			return refused
		}
		if listed, refused = v.TopicAttributes(c.Resource.Topic); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	owner := arn.AccountOf(topicARN)
	listed = append(listed, queue.Attribute{Name: "Owner", Value: owner})
	own, _ := valueOf(listed, "DeliveryPolicy")
	listed = append(listed, queue.Attribute{Name: "EffectiveDeliveryPolicy", Value: policy.EffectiveTopicDeliveryText(own)})
	if _, given := valueOf(listed, "Policy"); !given {
		listed = append(listed, queue.Attribute{Name: "Policy", Value: policy.DefaultTopicAccess(topicARN, owner)})
	}
	slices.SortFunc(listed, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return &attributesOutput{attributePairs(listed)}, nil
}

func valueOf(listed []queue.Attribute, name string) (string, bool) {
	for _, a := range listed {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}
