package client

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func queueUpdateCommand(o *options) *cobra.Command {
	var attributes []string
	c := &cobra.Command{
		Use: "update NAME --attribute Name=Value", Short: "Change attributes of a queue", Args: arguments.Exactly("NAME"),
		Long: "Change attributes of a queue; all others stay as they are. An empty value ends a Policy or a RedrivePolicy.\n\n" +
			"seriatim queue show NAME prints the attributes that there are.",
		Example: "  seriatim queue update orders.fifo --attribute VisibilityTimeout=120\n" +
			"  seriatim queue update jobs -a 'RedrivePolicy={\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:jobs-dead\",\"maxReceiveCount\":5}'\n" +
			"  seriatim queue update jobs -a RedrivePolicy=",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			attrs, err := pairs("attribute", attributes)
			if err != nil {
				return err
			}
			if len(attrs) == 0 {
				return exit.New(exit.Usage, errors.New("--attribute is missing"), "name what to change: --attribute VisibilityTimeout=60")
			}
			return w.changeQueue(cmd, p, args[0], "SetQueueAttributes", map[string]any{"Attributes": attrs}, "updated")
		}),
	}
	c.Flags().StringArrayVarP(&attributes, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	return c
}

func queueTagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tag NAME KEY=VALUE...", Short: "Add tags to a queue, or change them", Args: arguments.AtLeast("NAME", "KEY=VALUE"),
		Example:           "  seriatim queue tag orders.fifo team=billing stage=production",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			tags, err := pairs("tag", args[1:])
			if err != nil {
				return exit.New(exit.Usage, errors.New("a tag is written KEY=VALUE"), "usage: "+cmd.UseLine())
			}
			return w.changeQueue(cmd, p, args[0], "TagQueue", map[string]any{"Tags": tags}, "tagged")
		}),
	}
}

func queueUntagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "untag NAME KEY...", Short: "Remove tags from a queue", Args: arguments.AtLeast("NAME", "KEY"),
		Example:           "  seriatim queue untag orders.fifo stage",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			return w.changeQueue(cmd, p, args[0], "UntagQueue", map[string]any{"TagKeys": args[1:]}, "untagged")
		}),
	}
}

// changeQueue runs an action that changes the queue and answers nothing.
func (w *wire) changeQueue(cmd *cobra.Command, p *printer, name, action string, in map[string]any, past string) error {
	u, err := w.queueURL(cmd.Context(), name)
	if err != nil {
		return err
	}
	in["QueueUrl"] = u
	if err := w.call(cmd.Context(), action, in, nil, 0); err != nil {
		return err
	}
	return p.done(map[string]any{"name": nameOf(u), past: true}, "%s %s", past, nameOf(u))
}
