package service

import (
	"context"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// QueueAttributes lists the named attributes of the queue of a call that have a value, or all of
// them, sorted by name. encrypted reports whether all nodes encrypt their disks.
func QueueAttributes(ctx context.Context, c *Call, encrypted bool, names []string, all bool) ([]queue.Attribute, error) {
	listed, err := ReadValue(ctx, c, func(v queue.View) ([]queue.Attribute, *queue.Error) { return v.Attributes(c.Resource.Name) })
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if !attributes.Known(n) {
			return nil, refusal.UnknownAttribute(n)
		}
	}
	attributes.ClaimEncryption(listed, encrypted)
	listed = append(listed, queue.Attribute{Name: "QueueArn", Value: c.Backend.Names.QueueARN(c.Resource.Name)})
	if !all {
		listed = slices.DeleteFunc(listed, func(a queue.Attribute) bool { return !slices.Contains(names, a.Name) })
	}
	return sortedAttributes(listed), nil
}

// TopicAttributes lists the attributes of the topic of a call that have a value, sorted by name,
// with the defaults of SNS (sns.md 3.1).
func TopicAttributes(ctx context.Context, c *Call) ([]queue.Attribute, error) {
	listed, err := ReadValue(ctx, c, func(v queue.View) ([]queue.Attribute, *queue.Error) { return v.TopicAttributes(c.Resource.Topic) })
	if err != nil {
		return nil, err
	}
	topicARN, _ := attributes.ValueOf(listed, "TopicArn")
	owner := arn.AccountOf(topicARN)
	own, _ := attributes.ValueOf(listed, "DeliveryPolicy")
	listed = append(listed, queue.Attribute{Name: "Owner", Value: owner},
		queue.Attribute{Name: "EffectiveDeliveryPolicy", Value: policy.EffectiveTopicDeliveryText(own)})
	if _, given := attributes.ValueOf(listed, "Policy"); !given {
		listed = append(listed, queue.Attribute{Name: "Policy", Value: policy.DefaultTopicAccess(topicARN, owner)})
	}
	return sortedAttributes(listed), nil
}

func sortedAttributes(list []queue.Attribute) []queue.Attribute {
	slices.SortFunc(list, func(a, b queue.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list
}
