package client

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func subscribeCommand(o *options) *cobra.Command {
	var attributes []string
	var raw bool
	var protocol string
	c := &cobra.Command{
		Use: "subscribe TOPIC QUEUE|URL", Short: "Subscribe a queue or a URL to a topic", Args: arguments.Exactly("TOPIC", "QUEUE|URL"),
		Long: "Subscribe a queue, by its name, URL or ARN, to a topic; or with --protocol http or https a URL to a standard topic.\n" +
			"Without --protocol a URL has to be that of a queue. The queue need not exist yet. Subscribing again with the same\n" +
			"attributes succeeds. A URL is posted a link and a token, with which the subscription has to be confirmed.\n\n" +
			"Attributes are those of the SNS API: RawMessageDelivery, FilterPolicy, FilterPolicyScope, RedrivePolicy, and DeliveryPolicy of URLs.",
		Example: "  seriatim topic subscribe sales.fifo billing.fifo --raw\n" +
			"  seriatim topic subscribe sales.fifo fraud.fifo -a 'FilterPolicy={\"amount\":[{\"numeric\":[\">\",1000]}]}'\n" +
			"  seriatim topic subscribe news https://example.org/hook --protocol https",
		ValidArgsFunction: o.completeTopics,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			attrs, err := flagPairs("attribute", attributes)
			if err != nil {
				return err
			}
			if raw {
				attrs["RawMessageDelivery"] = "true"
			}
			endpoint := args[1]
			if protocol == queueProtocol {
				if err = checkQueue(args[1]); err != nil {
					return err
				}
				if endpoint, err = w.endpointOf(cmd.Context(), args[0], args[1]); err != nil {
					return err
				}
			}
			in := url.Values{"TopicArn": {topicARN(args[0])}, "Protocol": {protocol}, "Endpoint": {endpoint}, "ReturnSubscriptionArn": {"true"}}
			entries(in, "Attributes.entry.", "key", "value", attrs)
			var out struct {
				SubscriptionARN string `json:"SubscriptionArn"`
			}
			if err := w.onTopics(cmd.Context(), "Subscribe", in, &out); err != nil {
				return err
			}
			return p.print(map[string]string{"subscriptionArn": out.SubscriptionARN}, func() table {
				return table{rows: [][]string{{out.SubscriptionARN}}}
			})
		}),
	}
	c.Flags().StringArrayVarP(&attributes, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	c.Flags().BoolVar(&raw, "raw", false, "deliver the message as it is, not in an envelope of JSON: RawMessageDelivery=true")
	c.Flags().StringVar(&protocol, "protocol", queueProtocol, "sqs for a queue, http or https for a URL that messages are posted to")
	return c
}

const queueProtocol = "sqs"

// checkQueue refuses a URL that is none of a queue: the end of its path would be subscribed as the name of a queue,
// which need not exist, and nothing would be posted to the URL.
func checkQueue(queue string) error {
	scheme, _, _ := strings.Cut(strings.ToLower(queue), "://")
	if scheme != "http" && scheme != "https" {
		return nil
	}
	if u, err := url.Parse(queue); err == nil && u.RawQuery == "" {
		// One slash before the account, one behind it, and then nothing but the name.
		if parts := strings.Split(u.Path, "/"); len(parts) == 3 && parts[0] == "" && isAccount(parts[1]) && parts[2] != "" {
			return nil
		}
	}
	return exit.New(exit.Usage, fmt.Errorf("%s is not the URL of a queue, which ends with /ACCOUNT/NAME", queue),
		"add --protocol "+scheme+" to have messages posted to it; a queue can be given by its name alone")
}

func confirmCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "confirm TOPIC TOKEN", Short: "Confirm the subscription of a URL with the token that was posted to it", Args: arguments.Exactly("TOPIC", "TOKEN"),
		Example:           "  seriatim topic confirm news 00000000000000050000...",
		ValidArgsFunction: o.completeTopics,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			var out struct {
				SubscriptionARN string `json:"SubscriptionArn"`
			}
			if err := w.onTopics(cmd.Context(), "ConfirmSubscription", url.Values{"TopicArn": {topicARN(args[0])}, "Token": {args[1]}}, &out); err != nil {
				return err
			}
			return p.print(map[string]string{"subscriptionArn": out.SubscriptionARN}, func() table {
				return table{rows: [][]string{{out.SubscriptionARN}}}
			})
		}),
	}
}

// endpointOf is the ARN of a queue, which has the region and the account of the topic.
func (w *wire) endpointOf(ctx context.Context, topic, queue string) (string, error) {
	if strings.Contains(queue, ":") && !strings.Contains(queue, "/") {
		return queue, nil
	}
	attributes, err := w.attributesOfTopic(ctx, topic)
	if err != nil {
		return "", err
	}
	parts := strings.Split(attributes["TopicArn"], ":")
	if len(parts) != 6 {
		return "", fmt.Errorf("the topic has the ARN %q", attributes["TopicArn"])
	}
	parts[2], parts[5] = "sqs", nameOf(queue)
	return strings.Join(parts, ":"), nil
}

func unsubscribeCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "unsubscribe TOPIC QUEUE|URL", Short: "End the subscription of a queue, in which what was delivered stays, or of a URL", Args: arguments.Exactly("TOPIC", "QUEUE|URL"),
		Example:           "  seriatim topic unsubscribe sales.fifo billing.fifo --yes",
		ValidArgsFunction: o.completeTopics,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			list, err := w.listSubscriptions(cmd.Context(), args[0])
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
				if err := w.onTopics(cmd.Context(), "Unsubscribe", url.Values{"SubscriptionArn": {s.SubscriptionARN}}, nil); err != nil {
					return err
				}
				topic := lastElement(args[0])
				return p.done(map[string]any{"topic": topic, "queue": s.Queue, "endpoint": s.Endpoint, "unsubscribed": true},
					"%s unsubscribed from %s", s.subscriber(), topic)
			}
			return exit.New(exit.NotFound, fmt.Errorf("%s is not subscribed to %s", args[1], args[0]), "seriatim topic subscriptions "+args[0]+" shows what is")
		}),
	})
}

func subscriptionsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "subscriptions [TOPIC]", Short: "List the subscriptions of a topic, or all", Args: arguments.Optional("TOPIC"),
		Example:           "  seriatim topic subscriptions\n  seriatim topic subscriptions sales.fifo -o json",
		ValidArgsFunction: o.completeTopics,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			list, err := w.listSubscriptions(cmd.Context(), strings.Join(args, ""))
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
