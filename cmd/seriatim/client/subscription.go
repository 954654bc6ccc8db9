package client

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue/attributes"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func subscribeCommand(o *options) *cobra.Command {
	var given []string
	var raw bool
	var protocol string
	c := &cobra.Command{
		Use: "subscribe TOPIC QUEUE|URL", Short: "Subscribe a queue or a URL to a topic", Args: arguments.Exactly("TOPIC", "QUEUE|URL"),
		Long: "Subscribe a queue to a topic, by its name, URL or ARN. The queue need not exist yet. With --protocol http or https,\n" +
			"subscribe a URL to a standard topic. The topic then posts a link and a token to the URL, with which you confirm the\n" +
			"subscription. Subscribing again with the same attributes succeeds.\n\n" +
			"Attributes are those of the SNS API: RawMessageDelivery, FilterPolicy, FilterPolicyScope, RedrivePolicy, and " +
			"DeliveryPolicy of URLs.",
		Example: "  seriatim topic subscribe sales.fifo billing.fifo --raw\n" +
			"  seriatim topic subscribe sales.fifo fraud.fifo -a 'FilterPolicy={\"amount\":[{\"numeric\":[\">\",1000]}]}'\n" +
			"  seriatim topic subscribe news https://example.org/hook --protocol https",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			attrs, err := flagPairs("attribute", given)
			if err != nil {
				return err
			}
			if raw {
				attrs["RawMessageDelivery"] = "true"
			}
			if err := checkSubscriber(protocol, args[1]); err != nil {
				return err
			}
			topic := qualifiedOf(args[0])
			arn, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (string, error) {
				if protocol == queueProtocol {
					return c.Subscribe(ctx, topic, queueBeside(topic, args[1]), attrs)
				}
				arn, _, err := c.SubscribeURL(ctx, topic, args[1], attrs)
				return arn, err
			})
			if err != nil {
				return err
			}
			return p.printSubscription(arn)
		}),
	}
	c.Flags().StringArrayVarP(&given, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	completeAttributes(c, attributes.DescribeSubscriptions())
	c.Flags().BoolVar(&raw, "raw", false, "deliver the message as it is, not in an envelope of JSON: RawMessageDelivery=true")
	c.Flags().StringVar(&protocol, "protocol", queueProtocol, "sqs for a queue, http or https for a URL that messages are posted to")
	return c
}

const queueProtocol = "sqs"

func (p *printer) printSubscription(arn string) error {
	return p.print(map[string]string{"subscriptionArn": arn}, func() table { return table{rows: [][]string{{arn}}} })
}

// checkSubscriber refuses a subscriber that does not fit the protocol.
func checkSubscriber(protocol, subscriber string) error {
	scheme, _, _ := strings.Cut(strings.ToLower(subscriber), "://")
	switch {
	case protocol == queueProtocol:
		return checkQueue(subscriber)
	case protocol != "http" && protocol != "https":
		return exit.New(exit.Usage, fmt.Errorf("unknown protocol %q", protocol), "use --protocol sqs, http or https")
	case scheme != protocol:
		return exit.New(exit.Usage, fmt.Errorf("%s does not begin with %s://", subscriber, protocol), "")
	}
	return nil
}

// queueBeside returns the name of a queue. A name without an account gets the account of the topic.
func queueBeside(topic, queue string) string {
	name := qualifiedOf(queue)
	if owner, _, found := strings.Cut(topic, "/"); found && !strings.Contains(name, "/") {
		return owner + "/" + name
	}
	return name
}

// subscription is one subscription of a topic in JSON output.
type subscription struct {
	SubscriptionARN string `json:"subscriptionArn"` // pendingARN until it is confirmed
	Topic           string `json:"topic"`
	Queue           string `json:"queue"` // empty: the endpoint is a URL
	Endpoint        string `json:"endpoint"`

	arn string
}

// pendingARN is shown for a subscription that is not confirmed, as on AWS.
const pendingARN = "PendingConfirmation"

// subscriber returns the name of the queue, or the URL.
func (s *subscription) subscriber() string {
	if s.Queue == "" {
		return s.Endpoint
	}
	return s.Queue
}

// listSubscriptions lists the subscriptions of a topic, or all if it is empty.
func listSubscriptions(ctx context.Context, n *native.Conn, topic string) ([]subscription, error) {
	found, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) ([]*api.Subscription, error) {
		return c.Subscriptions(ctx, qualifiedOf(topic))
	})
	list := make([]subscription, len(found))
	for i, s := range found {
		list[i] = subscription{
			SubscriptionARN: s.GetSubscriptionArn(), Topic: nameOf(s.GetTopic()), Queue: nameOf(s.GetQueue()), Endpoint: s.GetEndpoint(),
			arn: s.GetSubscriptionArn(),
		}
		if s.GetPending() {
			list[i].SubscriptionARN = pendingARN
		}
	}
	return list, err
}

// checkQueue refuses a URL that is not that of a queue. Otherwise the command would subscribe a
// queue with the last element of the path as its name.
func checkQueue(queue string) error {
	scheme, _, _ := strings.Cut(strings.ToLower(queue), "://")
	if scheme != "http" && scheme != "https" {
		return nil
	}
	if u, err := url.Parse(queue); err == nil && u.RawQuery == "" {
		// The path is /ACCOUNT/NAME.
		if parts := strings.Split(u.Path, "/"); len(parts) == 3 && parts[0] == "" && isAccount(parts[1]) && parts[2] != "" {
			return nil
		}
	}
	return exit.New(exit.Usage, fmt.Errorf("%s is not the URL of a queue, which ends with /ACCOUNT/NAME", queue),
		"add --protocol "+scheme+" to have messages posted to it; a queue can be given by its name alone")
}

func confirmCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "confirm TOPIC TOKEN", Short: "Confirm the subscription of a URL with the token that was posted to it",
		Args:              arguments.Exactly("TOPIC", "TOKEN"),
		Example:           "  seriatim topic confirm news 00000000000000050000...",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			arn, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (string, error) {
				return c.ConfirmSubscription(ctx, qualifiedOf(args[0]), args[1])
			})
			if err != nil {
				return err
			}
			return p.printSubscription(arn)
		}),
	}
}

func unsubscribeCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "unsubscribe TOPIC QUEUE|URL", Short: "End the subscription of a queue, which keeps its messages, or of a URL",
		Args:              arguments.Exactly("TOPIC", "QUEUE|URL"),
		Example:           "  seriatim topic unsubscribe sales.fifo billing.fifo --yes",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			list, err := listSubscriptions(cmd.Context(), n, args[0])
			if err != nil {
				return err
			}
			for _, s := range list {
				if (s.Queue == "" || s.Queue != nameOf(args[1])) && s.Endpoint != args[1] {
					continue
				}
				effect := fmt.Sprintf("%s gets no further messages of %s.", s.subscriber(), lastElement(args[0]))
				if err := q.ask(cmd, p, effect, "the name of the topic", lastElement(args[0])); err != nil {
					return err
				}
				err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error { return c.Unsubscribe(ctx, s.arn) })
				if err != nil {
					return err
				}
				topic := lastElement(args[0])
				return p.done(map[string]any{"topic": topic, "queue": s.Queue, "endpoint": s.Endpoint, "unsubscribed": true},
					"%s unsubscribed from %s", s.subscriber(), topic)
			}
			return exit.New(exit.NotFound, fmt.Errorf("%s is not subscribed to %s", args[1], args[0]),
				"seriatim topic subscriptions "+args[0]+" lists the subscriptions")
		}),
	})
}

func subscriptionsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "subscriptions [TOPIC]", Short: "List the subscriptions of a topic, or all", Args: arguments.Optional("TOPIC"),
		Example:           "  seriatim topic subscriptions\n  seriatim topic subscriptions sales.fifo -o json",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			list, err := listSubscriptions(cmd.Context(), n, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return p.print(map[string]any{"subscriptions": list}, func() table {
				t := table{heading: []string{"TOPIC", "SUBSCRIBER", "SUBSCRIPTION"}}
				for _, s := range list {
					t.add(s.Topic, s.subscriber(), s.SubscriptionARN)
				}
				return t
			})
		}),
	}
}
