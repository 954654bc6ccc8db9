package sns

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// onTopic is embedded in the input of actions that name a topic by TopicArn.
type onTopic struct{ TopicARN string }

func (t *onTopic) topicARN() (parameter, text string) { return "TopicArn", t.TopicARN }

// topicMember returns the member TopicArn of an input.
func topicMember[T any](at func(*T) *onTopic) awswire.Member[T] {
	return awswire.String("TopicArn", func(v *T) *string { return &at(v).TopicARN })
}

// onResource is embedded in the input of actions that name a topic by ResourceArn.
type onResource struct{ ResourceARN string }

func (r *onResource) topicARN() (parameter, text string) { return "ResourceArn", r.ResourceARN }

// resourceMember returns the member ResourceArn of an input.
func resourceMember[T any](at func(*T) *onResource) awswire.Member[T] {
	return awswire.String("ResourceArn", func(v *T) *string { return &at(v).ResourceARN })
}

// byTopic finds the topic by an ARN.
func byTopic(c *aws.Call, input any) (service.Resource, error) {
	parameter, text := input.(interface{ topicARN() (string, string) }).topicARN()
	if text == "" {
		return service.Resource{}, missing(parameter)
	}
	name, ok := arn.Topic(text)
	if !ok {
		if elements := strings.Count(text, ":") + 1; elements < arnElementsMin {
			return service.Resource{}, tooFewElements(parameter, elements)
		}
		return service.Resource{}, refusal.SNSInvalid(parameter)
	}
	if c.Scope.Elsewhere(text) {
		return service.Resource{}, refusal.SNSInvalid(parameter)
	}
	return topicResource(c, text, name), nil
}

// arnElementsMin is the least number of elements of an ARN.
const arnElementsMin = 6

// topicResource returns the topic of a name in an ARN.
func topicResource(c *aws.Call, text, name string) service.Resource {
	return service.Resource{Topic: c.Scope.Of(arn.AccountOf(text), cutTopic(name))}
}

// cutTopic cuts a name to one byte more than the longest, which suffices for the command to refuse it.
func cutTopic(name string) string { return name[:min(len(name), limits.FIFONameLengthMax+1)] }

// onSubscription is embedded in the input of actions that name a subscription.
type onSubscription struct{ SubscriptionARN string }

func (s *onSubscription) subscriptionARN() string { return s.SubscriptionARN }

// subscriptionMember returns the member SubscriptionArn of an input.
func subscriptionMember[T any](at func(*T) *onSubscription) awswire.Member[T] {
	return awswire.String("SubscriptionArn", func(v *T) *string { return &at(v).SubscriptionARN })
}

// bySubscription finds the topic of a subscription.
func bySubscription(c *aws.Call, input any) (service.Resource, error) {
	text := input.(interface{ subscriptionARN() string }).subscriptionARN()
	if refused := queue.CheckSubscriptionARN(text); refused != nil {
		return service.Resource{}, refused
	}
	if c.Scope.Elsewhere(text) {
		return service.Resource{}, refusal.SNSInvalid("SubscriptionArn")
	}
	name, _, _ := arn.Subscription(text)
	return topicResource(c, text, name), nil
}

// onAccount is for actions without a topic.
func onAccount(*aws.Call, any) (service.Resource, error) { return service.Resource{}, nil }
