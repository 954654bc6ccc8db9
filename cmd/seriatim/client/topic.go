package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	"github.com/seriatimq/seriatim/queue/attributes"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func topicCommand(o *options) *cobra.Command {
	return group("topic", "Create, list, show, change and delete topics, subscribe queues and URLs to them, and publish",
		"Create, list, show, change and delete topics, subscribe queues and URLs to them, and publish.\n\n"+
			"TOPIC is the name of a topic, or its ARN.",
		topicListCommand(o), topicCreateCommand(o), topicShowCommand(o), topicSetCommand(o), topicTagCommand(o),
		topicUntagCommand(o), topicTagsCommand(o), topicDeleteCommand(o),
		subscribeCommand(o), confirmCommand(o), unsubscribeCommand(o), subscriptionsCommand(o), subscriptionCommand(o), ruleCommand(o),
		topicExplainCommand(o),
		publishCommand(o), topicScheduledCommand(o), topicCancelCommand(o))
}

// completeTopics offers the names of the topics that exist.
func (o *options) completeTopics(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.offerNative(cmd, args, listTopics)
}

func listTopics(ctx context.Context, n *native.Conn) ([]string, error) {
	return native.Get(ctx, n, func(ctx context.Context, c *api.Client) ([]string, error) { return c.Topics(ctx) })
}

func topicAttributes(ctx context.Context, n *native.Conn, name string) (map[string]string, error) {
	return native.Get(ctx, n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
		return c.TopicAttributes(ctx, qualifiedOf(name))
	})
}

// lastElement returns the name in an ARN.
func lastElement(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

func topicListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List topics", Args: arguments.None,
		Example: "  seriatim topic list\n  seriatim topic list -o json",
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, _ []string) error {
			names, err := listTopics(cmd.Context(), n)
			if err != nil {
				return err
			}
			type topic struct {
				Name string `json:"name"`
				Type string `json:"type"` // fifo or standard
			}
			list := make([]topic, len(names))
			for i, name := range names {
				list[i] = topic{name, typeOf(name)}
			}
			return p.print(map[string]any{"topics": list}, func() table {
				t := table{heading: []string{"NAME", "TYPE"}}
				for _, one := range list {
					t.add(one.Name, one.Type)
				}
				return t
			})
		}),
	}
}

func topicCreateCommand(o *options) *cobra.Command {
	return creation(o, &cobra.Command{
		Use: "create TOPIC", Short: "Create a topic", Args: arguments.Exactly("TOPIC"),
		Long: "Create a topic. A name that ends in .fifo makes a FIFO topic.\n\n" +
			"Attributes are those of the SNS API, for instance ContentBasedDeduplication=true.\n" +
			"Creating a topic that exists with the same attributes succeeds.",
		Example: "  seriatim topic create sales.fifo --attribute FifoThroughputScope=MessageGroup\n" +
			"  seriatim topic create news --tag team=web",
	}, attributes.DescribeTopics(), "topicArn",
		func(ctx context.Context, n *native.Conn, name string, attrs, tags map[string]string) (string, error) {
			return native.Get(ctx, n, func(ctx context.Context, c *api.Client) (string, error) {
				return c.CreateTopic(ctx, name, attrs, tags)
			})
		})
}

// topicInfo is one topic in JSON output.
type topicInfo struct {
	Name          string            `json:"name"`
	Type          string            `json:"type"` // fifo or standard
	Attributes    map[string]string `json:"attributes"`
	Tags          map[string]string `json:"tags"`
	Subscriptions []subscription    `json:"subscriptions"`
}

func topicShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show TOPIC", Short: "Show attributes, tags and subscriptions of a topic", Args: arguments.Exactly("TOPIC"),
		Example:           "  seriatim topic show sales.fifo\n  seriatim topic show sales.fifo -o json | jq .attributes.TopicArn",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			attributes, err := topicAttributes(cmd.Context(), n, args[0])
			if err != nil {
				return err
			}
			info := topicInfo{Name: lastElement(args[0]), Type: typeOf(args[0]), Attributes: attributes}
			info.Tags, err = native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
				return c.TopicTags(ctx, qualifiedOf(args[0]))
			})
			if err != nil {
				return err
			}
			if info.Tags == nil {
				info.Tags = map[string]string{} // an object in JSON, also when empty
			}
			if info.Subscriptions, err = listSubscriptions(cmd.Context(), n, args[0]); err != nil {
				return err
			}
			return p.print(info, func() table {
				t := table{}
				for _, name := range slices.Sorted(maps.Keys(attributes)) {
					t.add(name, attributes[name])
				}
				for _, key := range slices.Sorted(maps.Keys(info.Tags)) {
					t.add("tag "+key, info.Tags[key])
				}
				for _, s := range info.Subscriptions {
					t.add("subscribed", s.subscriber())
				}
				return t
			})
		}),
	}
}

func topicSetCommand(o *options) *cobra.Command {
	q := &question{}
	return q.of(&cobra.Command{
		Use: "set TOPIC NAME=VALUE...", Short: "Change attributes of a topic", Args: arguments.AtLeast("TOPIC", "NAME=VALUE"),
		Long: "Change attributes of a topic, all or none; the others stay as they are. The command asks before it shortens the\n" +
			"deduplication window or the archive.\n\n" +
			"seriatim topic show TOPIC prints the attributes.",
		Example:           "  seriatim topic set sales.fifo ContentBasedDeduplication=true DeduplicationWindowSeconds=86400",
		ValidArgsFunction: o.completeTopicChanges,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			changes, err := pairs("the attribute", args[1:], "usage: "+cmd.UseLine())
			if err != nil {
				return err
			}
			known := attributes.DescribeTopics()
			err = q.askLoss(cmd, p, "topic", args[0], known, changes, func() (map[string]string, error) {
				return native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
					return c.TopicAttributes(ctx, qualifiedOf(args[0]))
				})
			})
			if err != nil {
				return err
			}
			err = n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return c.SetTopicAttributes(ctx, qualifiedOf(args[0]), changes)
			})
			if err != nil {
				return unknownAttribute(err, changes, namesOf(known))
			}
			return changedTopic(p, args[0], "updated")
		}),
	})
}

// completeTopicChanges offers the names of topics, and then attributes.
func (o *options) completeTopicChanges(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return o.completeTopics(cmd, args, typed)
	}
	return offerAttributes(attributes.DescribeTopics(), typed)
}

func changedTopic(p *printer, name, done string) error {
	return p.done(map[string]any{"topic": lastElement(name), done: true}, "%s %s", lastElement(name), done)
}

// nameScheduled is the attribute that counts the scheduled messages of a topic.
const nameScheduled = attributes.NameMessagesScheduled

func topicDeleteCommand(o *options) *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use: "delete TOPIC", Short: "Delete a topic with its subscriptions; delivered messages stay in the queues",
		Args:              arguments.Exactly("TOPIC"),
		Example:           "  seriatim topic delete sales.fifo --yes",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			attributes, err := topicAttributes(cmd.Context(), n, args[0])
			if err != nil {
				return err
			}
			subscriptions, err := strconv.Atoi(attributes["SubscriptionsConfirmed"])
			if err != nil {
				return fmt.Errorf("SubscriptionsConfirmed of %s: %w", lastElement(args[0]), err)
			}
			effect := fmt.Sprintf("%s has %s.", lastElement(args[0]), plural.Count(subscriptions, "subscription", "subscriptions"))
			if scheduled, some := attributes[nameScheduled]; some {
				effect += " It loses its scheduled messages: " + scheduled + "."
			}
			if err := q.ask(cmd, p, effect, "the name of the topic to delete", lastElement(args[0])); err != nil {
				return err
			}
			err = n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error { return c.DeleteTopic(ctx, qualifiedOf(args[0])) })
			if err != nil {
				return err
			}
			return changedTopic(p, args[0], "deleted")
		}),
	}
	return q.of(c)
}

func publishCommand(o *options) *cobra.Command {
	f, subject := &scheduleFlags{}, ""
	c := &cobra.Command{
		Use: "publish TOPIC [MESSAGE]", Short: "Publish one message, now or at a given time",
		Long: "Publish one message. Without MESSAGE, or with -, it is read from standard input.\n\n" +
			"With --at or --in, a FIFO topic publishes the message then. It checks for duplicates now. seriatim topic cancel\n" +
			"cancels the message by the printed sequence number.",
		Example: "  seriatim topic publish sales.fifo '{\"order\":17}' --group customer-9 --deduplication-id order-17\n" +
			"  seriatim topic publish sales.fifo '{\"remind\":17}' --in 24h --group customer-9 --deduplication-id remind-17\n" +
			"  seriatim topic publish news - --attribute kind=weather < report.json",
		Args:              arguments.OptionalLast("TOPIC", "MESSAGE"),
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			text, err := contentOf(cmd, "message", args)
			if err != nil {
				return err
			}
			m, err := f.message.message(cmd, text)
			if err != nil {
				return err
			}
			due, err := f.dueMs(cmd)
			if err != nil {
				return err
			}
			published := &api.TopicMessage{
				Message: m.GetBody(), BodyBytes: m.BodyBytes, GroupId: m.GroupId,
				DeduplicationId: m.DeduplicationId, Attributes: m.GetAttributes(),
				EnqueueAtMs: due, PartitionKey: f.partitionKey,
			}
			if cmd.Flags().Changed("subject") {
				published.Subject = &subject
			}
			return printSent(cmd, n, p, func(ctx context.Context, c *api.Client) ([]*api.PublishResult, error) {
				return c.Publish(ctx, qualifiedOf(args[0]), published)
			})
		}),
	}
	f.bind(c)
	f.message.bind(c, "message group id, required on FIFO topics without MessageGroupIdMode=Optional")
	c.Flags().StringVar(&subject, "subject", "", "subject in the envelope")
	return c
}

func topicTagsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tags TOPIC", Short: "List the tags of a topic", Args: arguments.Exactly("TOPIC"),
		Example:           "  seriatim topic tags sales.fifo\n  seriatim topic tags sales.fifo -o json | jq -r .tags.team",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			listed, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
				return c.TopicTags(ctx, qualifiedOf(args[0]))
			})
			if err != nil {
				return err
			}
			tags := map[string]string{}
			maps.Copy(tags, listed)
			return p.print(map[string]any{"topic": lastElement(args[0]), "tags": tags}, func() table {
				t := table{heading: []string{"KEY", "VALUE"}}
				for _, key := range slices.Sorted(maps.Keys(tags)) {
					t.add(key, tags[key])
				}
				return t
			})
		}),
	}
}

func topicTagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tag TOPIC KEY=VALUE...", Short: "Add tags to a topic, or change them", Args: arguments.AtLeast("TOPIC", "KEY=VALUE"),
		Example:           "  seriatim topic tag sales.fifo team=billing stage=production",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			tags, err := pairs("the tag", args[1:], "usage: "+cmd.UseLine())
			if err != nil {
				return err
			}
			err = n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return c.TagTopic(ctx, qualifiedOf(args[0]), tags)
			})
			if err != nil {
				return err
			}
			return changedTopic(p, args[0], "tagged")
		}),
	}
}

func topicUntagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "untag TOPIC KEY...", Short: "Remove tags from a topic", Args: arguments.AtLeast("TOPIC", "KEY"),
		Example:           "  seriatim topic untag sales.fifo stage",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return c.UntagTopic(ctx, qualifiedOf(args[0]), args[1:]...)
			})
			if err != nil {
				return err
			}
			return changedTopic(p, args[0], "untagged")
		}),
	}
}
