package sns

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type subscribeInput struct {
	onTopic
	Protocol   string
	Endpoint   string
	Attributes []awswire.Pair
	// ReturnSubscriptionARN asks for the ARN of a subscription that is not confirmed
	// yet, which those of queues always are.
	ReturnSubscriptionARN bool
}

var subscribeInputSchema = awswire.Structure(
	topicMember(func(v *subscribeInput) *onTopic { return &v.onTopic }),
	awswire.String("Protocol", func(v *subscribeInput) *string { return &v.Protocol }),
	awswire.String("Endpoint", func(v *subscribeInput) *string { return &v.Endpoint }),
	attributesMember(func(v *subscribeInput) *[]awswire.Pair { return &v.Attributes }),
	awswire.Boolean("ReturnSubscriptionArn", func(v *subscribeInput) *bool { return &v.ReturnSubscriptionARN }),
)

// protocolQueue is the protocol of the subscriptions that there are.
const protocolQueue = "sqs"

// otherProtocols are those of SNS that are not served.
var otherProtocols = [...]string{"application", "email", "email-json", "firehose", "http", "https", "lambda", "sms"}

// checkProtocol refuses every protocol but that of queues. The text for those that SNS has
// is ours.
func checkProtocol(name string) error {
	switch {
	case name == protocolQueue:
		return nil
	case name == "":
		return missing("Protocol")
	case slices.Contains(otherProtocols[:], name):
		return refusal.SNSInvalid("Invalid protocol type: ", name)
	}
	return refusal.SNSInvalid("Amazon SNS does not support this protocol string: ", refusal.Echo(name))
}

// subscribe subscribes a queue to a topic, or confirms that it is.
func subscribe(ctx context.Context, c *aws.Call, in *subscribeInput) (*subscriptionOutput, error) {
	if err := checkProtocol(in.Protocol); err != nil {
		return nil, err
	}
	account := c.Names().Account
	result, err := c.Submit(ctx, &queue.Subscribe{
		Topic: c.Resource.Topic, Endpoint: in.Endpoint, Owner: account, Principal: "arn:aws:iam::" + account + ":root",
		Attributes: aws.Attributes(in.Attributes),
	})
	if err != nil {
		return nil, err
	}
	done, err := aws.ResultOf[queue.Subscribed](result)
	return &subscriptionOutput{done.SubscriptionARN}, err
}
