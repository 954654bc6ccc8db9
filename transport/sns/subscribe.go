package sns

import (
	"context"
	"net/url"
	"slices"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type subscribeInput struct {
	onTopic
	Protocol   string
	Endpoint   string
	Attributes []awswire.Pair
	// ReturnSubscriptionARN requests the ARN also of an unconfirmed subscription.
	ReturnSubscriptionARN bool
}

var subscribeInputSchema = awswire.Structure(
	topicMember(func(v *subscribeInput) *onTopic { return &v.onTopic }),
	awswire.String("Protocol", func(v *subscribeInput) *string { return &v.Protocol }),
	awswire.String("Endpoint", func(v *subscribeInput) *string { return &v.Endpoint }),
	attributesMember(func(v *subscribeInput) *[]awswire.Pair { return &v.Attributes }),
	awswire.Boolean("ReturnSubscriptionArn", func(v *subscribeInput) *bool { return &v.ReturnSubscriptionARN }),
)

// otherProtocols lists the protocols of SNS that are not supported.
var otherProtocols = [...]string{"application", "email", "email-json", "firehose", "lambda", "sms"}

// readProtocol parses a protocol. The text for otherProtocols is ours.
func readProtocol(name string) (attributes.Protocol, error) {
	protocol, served := attributes.ParseProtocol(name)
	switch {
	case served:
		return protocol, nil
	case name == "":
		return 0, missing("Protocol")
	case slices.Contains(otherProtocols[:], name):
		return 0, refusal.SNSInvalid("Invalid protocol type: ", name)
	}
	return 0, refusal.SNSInvalid("Amazon SNS does not support this protocol string: ", refusal.Echo(name))
}

// pendingAnswer replaces the ARN of an unconfirmed subscription without ReturnSubscriptionARN (SNS).
const pendingAnswer = "pending confirmation"

// queue returns the queue to subscribe, empty for a URL.
func (in *subscribeInput) queue(s *service.Scope) string {
	protocol, _ := attributes.ParseProtocol(in.Protocol)
	if name, ok := arn.Queue(in.Endpoint); ok && !protocol.Web() {
		return s.Of(arn.AccountOf(in.Endpoint), name)
	}
	return ""
}

func subscribeNeeds(c *aws.Call, input any) ([]service.Need, error) {
	in := input.(*subscribeInput)
	return service.SubscribeNeeds(c.Resource.Topic, in.queue(&c.Scope), aws.Attributes(in.Attributes)), nil
}

// subscribe subscribes a queue or a URL to a topic, or confirms an equal subscription.
func subscribe(ctx context.Context, c *aws.Call, in *subscribeInput) (*subscriptionOutput, error) {
	protocol, err := readProtocol(in.Protocol)
	if err != nil {
		if slices.Contains(otherProtocols[:], in.Protocol) {
			if missing := topicExists(ctx, c); missing != nil {
				return nil, missing
			}
		}
		return nil, err
	}
	cmd := &queue.Subscribe{
		Topic: c.Resource.Topic, Protocol: protocol, Endpoint: in.Endpoint, Attributes: aws.Attributes(in.Attributes),
	}
	if refused := c.Names().CheckDeadLetter(cmd.Attributes); refused != nil {
		return nil, refused
	}
	cmd.Owner, cmd.Principal = c.Scope.Subscriber(c.Identity, c.Resource.Topic)
	if _, ok := arn.Queue(in.Endpoint); ok && !protocol.Web() && c.Scope.Elsewhere(in.Endpoint) {
		return nil, refusal.SNSInvalid("Endpoint Reason: the queue is in another region")
	}
	if subscribed := in.queue(&c.Scope); access.OwnerOf(subscribed) != "" {
		cmd.Queue = subscribed
	}
	if protocol.Web() {
		cmd.Server = c.BaseURL()
		if u, err := url.Parse(in.Endpoint); err != nil || u.Hostname() == "" {
			return nil, refusal.SNSInvalid("Endpoint must match the specified protocol")
		}
	}
	done, err := service.Submit[queue.Subscribed](ctx, &c.Call, cmd)
	if done.Pending && !in.ReturnSubscriptionARN {
		done.SubscriptionARN = pendingAnswer
	}
	return &subscriptionOutput{done.SubscriptionARN}, err
}
