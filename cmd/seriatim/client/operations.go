package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// storedMax is the most messages of one call that deletes or moves stored messages.
const storedMax = 100

func queuePauseCommand(o *options) *cobra.Command {
	return pausing(o, &cobra.Command{
		Use: "pause NAME", Short: "Stop the deliveries of a queue",
		Long: "Stop the deliveries of a queue: receives get no messages until seriatim queue resume. Sends go on, and receivers keep\n" +
			"the messages that they have.",
		Example: "  seriatim queue pause orders.fifo",
	}, "true", "paused")
}

func queueResumeCommand(o *options) *cobra.Command {
	return pausing(o, &cobra.Command{
		Use: "resume NAME", Short: "Resume the deliveries of a queue", Example: "  seriatim queue resume orders.fifo",
	}, "false", "resumed")
}

// pausing completes a command that sets DeliveryPaused.
func pausing(o *options, c *cobra.Command, value, past string) *cobra.Command {
	c.Args, c.ValidArgsFunction = arguments.Exactly("NAME"), o.completeQueues
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		err := n.Do(cmd.Context(), 0, func(ctx context.Context, to *api.Client) error {
			return to.SetQueueAttributes(ctx, qualifiedOf(args[0]), map[string]string{"DeliveryPaused": value})
		})
		if err != nil {
			return err
		}
		return p.done(map[string]any{"queue": args[0], "paused": value == "true"}, "%s: deliveries %s", args[0], past)
	})
	return c
}

func queueExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain NAME", Short: "Explain what receives from a queue get, and why",
		Args: arguments.Exactly("NAME"), Example: "  seriatim queue explain orders.fifo", ValidArgsFunction: o.completeQueues,
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Queue: qualifiedOf(args[0])}, nil
	})
}

func topicExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain NAME", Short: "Explain where the messages of a topic go",
		Args: arguments.Exactly("NAME"), Example: "  seriatim topic explain events.fifo",
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Topic: qualifiedOf(args[0])}, nil
	})
}

func subscriptionExplainCommand(o *options) *cobra.Command {
	return explaining(o, &cobra.Command{
		Use: "explain SUBSCRIPTION-ARN", Short: "Explain whether a topic delivers to a subscription",
		Args:    arguments.Exactly("SUBSCRIPTION-ARN"),
		Example: "  seriatim topic subscription explain arn:aws:sns:us-east-1:000000000000:events.fifo:7f6e...",
	}, func(args []string) (*api.ExplainRequest, error) {
		return &api.ExplainRequest{Subject: &api.ExplainSubscription{Subscription: &api.SubscriptionSubject{SubscriptionArn: args[0]}}}, nil
	})
}

func messageExplainCommand(o *options) *cobra.Command {
	f := &selection{}
	c := explaining(o, &cobra.Command{
		Use: "explain QUEUE (--sequence NUMBER | --message ID)", Short: "Explain where a message is, and what happens to it next",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		Example: "  seriatim msg explain orders.fifo --sequence 10000000000000000042",
	}, func(args []string) (*api.ExplainRequest, error) {
		chosen, err := f.selectors()
		if err == nil && len(chosen) != 1 {
			err = exit.New(exit.Usage, errors.New("name one message"), "give --sequence or --message once")
		}
		if err != nil {
			return nil, err
		}
		return &api.ExplainRequest{Queue: qualifiedOf(args[0]), Subject: &api.ExplainMessage{Message: chosen[0]}}, nil
	})
	f.bind(c)
	return c
}

// explanation is an explanation in JSON output.
type explanation struct {
	State    string           `json:"state"`
	Summary  string           `json:"summary"`
	Details  []string         `json:"details"`
	UntilMs  int64            `json:"untilMs,omitempty"`
	Next     string           `json:"next,omitempty"`
	Holder   *explainedHolder `json:"holder,omitempty"`
	Timeline []explainedEvent `json:"timeline,omitempty"`
	Commands []explainedLine  `json:"commands"`
}

type explainedHolder struct {
	Address   string `json:"address"`
	AccessKey string `json:"accessKey,omitempty"`
	Node      string `json:"node"`
	SinceMs   int64  `json:"sinceMs"`
}

type explainedEvent struct {
	AtMs  int64  `json:"atMs"`
	Event string `json:"event"`
}

type explainedLine struct {
	Line   string `json:"line"`
	Effect string `json:"effect"`
}

// explaining completes a command that prints an Explanation.
func explaining(o *options, c *cobra.Command, of func(args []string) (*api.ExplainRequest, error)) *cobra.Command {
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		in, err := of(args)
		if err != nil {
			return err
		}
		found, err := native.Get(cmd.Context(), n, func(ctx context.Context, to *api.Client) (*api.Explanation, error) {
			return to.Explain(ctx, in)
		})
		if err != nil {
			return err
		}
		e := explanation{
			State: found.GetState(), Summary: found.GetSummary(), Details: emptyIfNil(found.GetDetails()), UntilMs: found.GetUntilMs(),
			Next: found.GetNext(), Commands: []explainedLine{},
		}
		if h := found.GetHolder(); h != nil {
			e.Holder = &explainedHolder{h.GetAddress(), h.GetAccessKey(), h.GetNode(), h.GetSinceMs()}
		}
		for _, event := range found.GetTimeline() {
			e.Timeline = append(e.Timeline, explainedEvent{event.GetAtMs(), event.GetEvent()})
		}
		for _, line := range found.GetCommands() {
			e.Commands = append(e.Commands, explainedLine{line.GetLine(), line.GetEffect()})
		}
		return p.print(e, e.table)
	})
	return c
}

func (e *explanation) table() table {
	t := table{rows: [][]string{{"State", e.State}, {"Why", e.Summary}}}
	for _, detail := range e.Details {
		t.add("", detail)
	}
	if e.Next != "" {
		t.add("Next", e.Next)
	}
	for _, event := range e.Timeline {
		t.add(clockTime(decimal(event.AtMs)), event.Event)
	}
	for _, c := range e.Commands {
		t.add("Command", c.Line+"   # "+c.Effect)
	}
	return t
}

// selection names stored messages.
type selection struct{ sequences, messages []string }

func (f *selection) bind(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.sequences, "sequence", nil, "sequence numbers, as seriatim msg peek and msg find print them")
	c.Flags().StringSliceVar(&f.messages, "message", nil, "message ids; the node reads the queue to find them")
}

// selectors returns the named messages.
func (f *selection) selectors() (list []*api.MessageSelector, err error) {
	for _, text := range f.sequences {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, exit.New(exit.Usage, fmt.Errorf("--sequence %q is no sequence number", text), "seriatim msg peek shows the numbers")
		}
		list = append(list, &api.MessageSelector{SequenceNumber: n})
	}
	for _, id := range f.messages {
		list = append(list, &api.MessageSelector{MessageId: id})
	}
	if len(list) == 0 {
		return nil, exit.New(exit.Usage, errors.New("no message is named"), "give --sequence or --message")
	}
	return list, nil
}

// movedMessage is a message that was moved, or refused, in JSON output.
type movedMessage struct {
	Message     string `json:"message"` // as it was named
	Destination string `json:"destination,omitempty"`
	Sequence    string `json:"sequenceNumber,omitempty"`
	Refused     string `json:"refused,omitempty"`
}

func moveMessageCommand(o *options) *cobra.Command {
	f, force, to := &selection{}, false, ""
	c := &cobra.Command{
		Use: "move QUEUE (--sequence NUMBER | --message ID)... [--to QUEUE]", Short: "Move stored messages to another queue",
		Long: "Move stored messages to another queue, in order, without receiving them. A message keeps its id, group and attributes,\n" +
			"and is never dropped as a duplicate. Without --to, a message goes back to the queue from which it was dead-lettered.",
		Example: "  seriatim msg move orders-dead.fifo --sequence 10000000000000000042\n" +
			"  seriatim msg move orders.fifo --message 8e0da8fa-6d76-4db7-ae87-80b7ef0cd6cc --to parked.fifo",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			chosen, err := f.selectors()
			if err != nil {
				return err
			}
			if to != "" {
				to = qualifiedOf(to)
			}
			moved, refused := []movedMessage{}, 0
			for part := range slices.Chunk(chosen, storedMax) {
				results, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) ([]*api.MoveResult, error) {
					return c.MoveStored(ctx, qualifiedOf(args[0]), to, force, part...)
				})
				if err != nil {
					return err
				}
				for i, r := range results {
					m := movedMessage{Message: selectorText(part[i]), Destination: r.GetDestination()}
					if m.Refused = r.GetFailure().GetMessage(); m.Refused != "" {
						refused++
						p.say("not moved: %s: %s", m.Message, m.Refused)
					} else if r.GetSequenceNumber() != 0 {
						m.Sequence = strconv.FormatUint(r.GetSequenceNumber(), 10)
					}
					moved = append(moved, m)
				}
			}
			if p.format.OfDocument() {
				err = p.print(map[string]any{"messages": moved}, nil)
			}
			return errors.Join(err, p.changed(refused, len(chosen), "moved"))
		}),
	}
	f.bind(c)
	c.Flags().StringVar(&to, "to", "", "queue to move to (default: the queue from which each message was dead-lettered)")
	c.Flags().BoolVar(&force, "force", false, "move messages in flight, too; the receipt handles of their receivers end")
	return c
}

func selectorText(s *api.MessageSelector) string {
	if s.GetMessageId() != "" {
		return s.GetMessageId()
	}
	return strconv.FormatUint(s.GetSequenceNumber(), 10)
}

func discardMessageCommand(o *options) *cobra.Command {
	f, q, force := &selection{}, &question{}, false
	c := q.of(&cobra.Command{
		Use: "discard QUEUE (--sequence NUMBER | --message ID)...", Short: "Delete stored messages that you did not receive",
		Long: "Delete stored messages in any state without receiving them. Their deduplication ids stay known. To delete received\n" +
			"messages, use seriatim msg delete.",
		Example: "  seriatim msg discard orders.fifo --sequence 10000000000000000042\n" +
			"  seriatim msg discard orders.fifo --message 8e0da8fa-6d76-4db7-ae87-80b7ef0cd6cc --yes",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			chosen, err := f.selectors()
			if err != nil {
				return err
			}
			names := strings.Join(slices.Concat(f.sequences, f.messages), ", ")
			effect := fmt.Sprintf("%s loses these messages for good: %s.", args[0], names)
			if err := q.ask(cmd, p, effect, "the name of the queue", args[0]); err != nil {
				return err
			}
			refused := 0
			for part := range slices.Chunk(chosen, storedMax) {
				err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
					return c.DeleteStored(ctx, qualifiedOf(args[0]), force, part...)
				})
				batch, some := errors.AsType[*api.BatchError](err)
				if err != nil && !some {
					return err
				}
				for i := range part {
					if some && batch.Failures[i] != nil {
						refused++
						p.say("not deleted: %s: %s", selectorText(part[i]), batch.Failures[i])
					}
				}
			}
			if p.format.OfDocument() {
				err = p.print(map[string]any{"deleted": len(chosen) - refused}, nil)
			}
			return errors.Join(err, p.changed(refused, len(chosen), "deleted"))
		}),
	})
	f.bind(c)
	c.Flags().BoolVar(&force, "force", false, "delete messages in flight, too; the receipt handles of their receivers end")
	return c
}
