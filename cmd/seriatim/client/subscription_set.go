package client

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/filter"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func subscriptionCommand(o *options) *cobra.Command {
	return group("subscription", "Show and change a subscription, and test its filter",
		"Show and change a subscription, and test its filter.\n\nA topic and the subscribed queue or URL name the subscription.",
		subscriptionShowCommand(o), subscriptionSetCommand(o), subscriptionTestCommand(o), subscriptionExplainCommand(o))
}

// findSubscription returns the subscription of a queue or URL to a topic.
func findSubscription(ctx context.Context, n *native.Conn, topic, subscriber string) (subscription, error) {
	list, err := listSubscriptions(ctx, n, topic)
	if err != nil {
		return subscription{}, err
	}
	for _, s := range list {
		if s.Queue != "" && s.Queue == nameOf(lastElement(subscriber)) || s.Endpoint == subscriber || s.arn == subscriber {
			return s, nil
		}
	}
	return subscription{}, exit.New(exit.NotFound, fmt.Errorf("%s is not subscribed to %s", subscriber, lastElement(topic)),
		"seriatim topic subscriptions "+topic+" lists the subscriptions")
}

func subscriptionAttributes(ctx context.Context, n *native.Conn, s subscription) (map[string]string, error) {
	return native.Get(ctx, n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
		return c.SubscriptionAttributes(ctx, s.arn)
	})
}

func subscriptionShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show TOPIC QUEUE|URL", Short: "Show the attributes of a subscription: its filter, policies and raw delivery",
		Args: arguments.Exactly("TOPIC", "QUEUE|URL"),
		Example: "  seriatim topic subscription show sales.fifo fraud.fifo\n" +
			"  seriatim topic subscription show sales.fifo fraud.fifo -o json",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			s, err := findSubscription(cmd.Context(), n, args[0], args[1])
			if err != nil {
				return err
			}
			attrs, err := subscriptionAttributes(cmd.Context(), n, s)
			if err != nil {
				return err
			}
			doc := struct {
				Subscription subscription      `json:"subscription"`
				Attributes   map[string]string `json:"attributes"`
			}{s, attrs}
			return p.print(doc, func() table {
				t := table{rows: [][]string{{"Subscription", s.SubscriptionARN}, {"Topic", s.Topic}, {"Subscriber", s.subscriber()}}}
				for _, name := range slices.Sorted(maps.Keys(attrs)) {
					if name != "SubscriptionArn" {
						t.add(name, attrs[name])
					}
				}
				return t
			})
		}),
	}
}

func subscriptionSetCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "set TOPIC QUEUE|URL NAME=VALUE...", Short: "Change attributes of a subscription",
		Args: arguments.AtLeast("TOPIC", "QUEUE|URL", "NAME=VALUE"),
		Long: "Change attributes of a subscription, all or none; the others stay as they are. An empty value removes a policy.\n\n" +
			"A changed filter applies to messages that are published from now on.",
		Example: "  seriatim topic subscription set sales.fifo fraud.fifo 'FilterPolicy={\"amount\":[{\"numeric\":[\">\",500]}]}'\n" +
			"  seriatim topic subscription set sales.fifo fraud.fifo FilterPolicy= RawMessageDelivery=true",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			changed, err := pairs("the attribute", args[2:], "usage: "+cmd.UseLine())
			if err != nil {
				return err
			}
			s, err := findSubscription(cmd.Context(), n, args[0], args[1])
			if err != nil {
				return err
			}
			err = n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return c.SetSubscriptionAttributes(ctx, s.arn, changed)
			})
			if err != nil {
				return unknownAttribute(err, changed, namesOf(attributes.DescribeSubscriptions()))
			}
			return p.done(map[string]any{"subscriptionArn": s.arn, "updated": true}, "the subscription of %s to %s updated", s.subscriber(),
				s.Topic)
		}),
	}
}

// testFlags holds the flags of topic subscription test.
type testFlags struct {
	attributes    []string
	policy, scope string
}

func subscriptionTestCommand(o *options) *cobra.Command {
	f := &testFlags{}
	c := &cobra.Command{
		Use: "test TOPIC QUEUE|URL [MESSAGE]", Short: "Show whether a message would pass the filter of a subscription",
		Args: arguments.OptionalLast("TOPIC", "QUEUE|URL", "MESSAGE"),
		Long: "Show whether a message would pass the filter of a subscription, without publishing it. With --filter-policy you test\n" +
			"another policy before you set it. The exit code is 1 if the filter drops the message.",
		Example: "  seriatim topic subscription test sales.fifo fraud.fifo --attribute amount:Number=1200\n" +
			"  seriatim topic subscription test sales.fifo abroad.fifo '{\"country\":\"FR\"}' --filter-policy '{\"country\":[\"FR\"]}' " +
			"--filter-policy-scope MessageBody",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return f.test(cmd, n, p, args)
		}),
	}
	c.Flags().StringArrayVarP(&f.attributes, "attribute", "a", nil,
		"a message attribute as name=text or name:Type=value, may be repeated")
	c.Flags().StringVar(&f.policy, "filter-policy", "", "policy to test instead of that of the subscription")
	c.Flags().StringVar(&f.scope, "filter-policy-scope", "", "scope of the policy: MessageAttributes or MessageBody")
	complete(c, "filter-policy-scope", "MessageAttributes", "MessageBody")
	return c
}

func (f *testFlags) test(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
	given, err := messageAttributes(f.attributes)
	if err != nil {
		return err
	}
	s, err := findSubscription(cmd.Context(), n, args[0], args[1])
	if err != nil {
		return err
	}
	attrs, err := subscriptionAttributes(cmd.Context(), n, s)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("filter-policy") {
		attrs["FilterPolicy"] = f.policy
	}
	if f.scope != "" {
		attrs["FilterPolicyScope"] = f.scope
	}
	policy, err := parseFilter(attrs)
	if err != nil {
		return exit.New(exit.Usage, err, "docs/reference/topics.md lists the elements of filter policies")
	}
	body := ""
	if len(args) > 2 {
		if body, err = contentOf(cmd, "message", args[1:]); err != nil {
			return err
		}
	}
	passes := policy.Match(filter.NewMessage(filterAttributes(given), body))
	doc := map[string]any{"passes": passes, "filterPolicy": policy.Text(), "filterPolicyScope": policy.Scope().String()}
	if p.format.OfDocument() {
		err = p.print(doc, nil)
	}
	switch {
	case err != nil:
		return err
	case !passes:
		return exit.New(exit.Failed, fmt.Errorf("the filter drops the message: %s does not get it", s.subscriber()),
			"the policy is about "+policy.Scope().String()+": "+policy.Text())
	case policy == nil:
		p.say("%s gets the message: the subscription has no filter", s.subscriber())
	default:
		p.say("%s gets the message: it passes the filter", s.subscriber())
	}
	return nil
}

// parseFilter returns the filter in the attributes of a subscription.
func parseFilter(attrs map[string]string) (*filter.Policy, error) {
	scope := filter.MessageAttributes
	if text := attrs["FilterPolicyScope"]; text != "" {
		parsed, err := filter.ParseScope(text)
		if err != nil {
			return nil, err
		}
		scope = parsed
	}
	return filter.Parse(attrs["FilterPolicy"], scope)
}

// filterAttributes returns message attributes for a filter, which ignores binary ones.
func filterAttributes(given map[string]*api.Attribute) (list []filter.Attribute) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		list = append(list, filter.Attribute{Name: name, DataType: given[name].GetDataType(), Value: given[name].GetText()})
	}
	return list
}
