package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
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

// selection chooses stored messages: by their numbers and ids, or by a filter.
type selection struct {
	sequences, messages []string
	filter              filterFlags
	limit               int
	force               bool
}

func (f *selection) bind(c *cobra.Command, force string) {
	c.Flags().StringSliceVar(&f.sequences, "sequence", nil, "sequence numbers, as seriatim msg peek and msg find print them")
	c.Flags().StringSliceVar(&f.messages, "message", nil, "message ids; the node reads the queue to find them")
	c.Flags().IntVar(&f.limit, "limit", 0, "most messages that a filter chooses (default: no limit)")
	c.Flags().BoolVar(&f.force, "force", false, force)
	f.filter.bind(c)
}

// named returns the messages that the flags name, none if they have a filter.
func (f *selection) named() (list []*api.MessageSelector, err error) {
	for _, text := range f.sequences {
		n, err := parseSequence("--sequence", text)
		if err != nil {
			return nil, err
		}
		list = append(list, &api.MessageSelector{SequenceNumber: n})
	}
	for _, id := range f.messages {
		list = append(list, &api.MessageSelector{MessageId: id})
	}
	switch filtered := f.filter.given(); {
	case len(list) == 0 && !filtered:
		return nil, exit.New(exit.Usage, errors.New("no message is chosen"), "give --sequence, --message or a filter such as --group")
	case len(list) > 0 && filtered:
		return nil, exit.New(exit.Usage, errors.New("--sequence and --message cannot be combined with a filter"), "")
	case f.limit < 0 || f.limit > 0 && !filtered:
		return nil, exit.New(exit.Usage, errors.New("--limit is the most messages that a filter chooses"), "give 1 or more, and a filter")
	}
	return list, nil
}

// parts calls change with the chosen messages, at most storedMax at a time. A filter leaves out
// messages in flight, unless --force or --state asks for them.
func (f *selection) parts(ctx context.Context, n *native.Conn, queue string, change func(part []*api.MessageSelector) error) error {
	chosen, err := f.named()
	if err != nil {
		return err
	}
	for part := range slices.Chunk(chosen, storedMax) {
		if err := change(part); err != nil {
			return err
		}
	}
	if len(chosen) > 0 {
		return nil
	}
	filter, err := f.filter.read()
	if err != nil {
		return err
	}
	if len(filter.States) == 0 && !f.force {
		filter.States = statesAtRest
	}
	left := f.limit
	return eachPage(ctx, n, &api.FindMessagesRequest{Queue: qualifiedOf(queue), Filter: filter, PageSize: storedMax},
		func(page []*api.PeekedMessage) (more bool, err error) {
			if f.limit > 0 {
				page = page[:min(len(page), left)]
				left -= len(page)
			}
			part := make([]*api.MessageSelector, len(page))
			for i, m := range page {
				part[i] = &api.MessageSelector{SequenceNumber: m.GetMessage().GetSequenceNumber()}
			}
			if len(part) > 0 {
				err = change(part)
			}
			return f.limit == 0 || left > 0, err
		})
}

// count counts the chosen messages.
func (f *selection) count(ctx context.Context, n *native.Conn, queue string) (total int, err error) {
	err = f.parts(ctx, n, queue, func(part []*api.MessageSelector) error {
		total += len(part)
		return nil
	})
	return total, err
}

// description names the chosen messages for a question.
func (f *selection) description(total int) string {
	if f.filter.given() {
		return plural.Count(total, "message", "messages") + " that match the filter"
	}
	return "these messages: " + strings.Join(slices.Concat(f.sequences, f.messages), ", ")
}

// movedMessage is a message that was moved, or refused, in JSON output.
type movedMessage struct {
	Message     string `json:"message"` // as it was named
	Destination string `json:"destination,omitempty"`
	Sequence    string `json:"sequenceNumber,omitempty"`
	Refused     string `json:"refused,omitempty"`
}

func moveMessageCommand(o *options) *cobra.Command {
	m, q := &moveFlags{}, &question{}
	c := q.of(&cobra.Command{
		Use:   "move QUEUE (--sequence NUMBER | --message ID | FILTER)... [--to QUEUE]",
		Short: "Move stored messages to another queue",
		Long: "Move stored messages to another queue, in order, without receiving them. A message keeps its id, group and attributes,\n" +
			"and is never dropped as a duplicate. Without --to, a message goes back to the queue from which it was dead-lettered.\n\n" +
			"With a filter, as seriatim msg find has, all matching messages move, but for those in flight. The command\n" +
			"asks before.",
		Example: "  seriatim msg move orders-dead.fifo --sequence 10000000000000000042\n" +
			"  seriatim msg move orders-dead.fifo --attribute DeadLetterReason=timeout --limit 1000 --rate 50 --dry-run\n" +
			"  seriatim msg move orders.fifo --message 8e0da8fa-6d76-4db7-ae87-80b7ef0cd6cc --to parked.fifo",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if !q.skipped() && (q.dryRun || m.chosen.filter.given()) {
				total, err := m.chosen.count(cmd.Context(), n, args[0])
				if err != nil {
					return err
				}
				effect := fmt.Sprintf("%s leave %s.", plural.Count(total, "message", "messages"), args[0])
				if err := q.ask(cmd, p, effect, "the name of the queue", args[0]); err != nil {
					return err
				}
			}
			return m.run(cmd.Context(), n, p, args[0])
		}),
	})
	m.chosen.bind(c, "move messages in flight, too; the receipt handles of their receivers end")
	c.Flags().StringVar(&m.to, "to", "", "queue to move to (default: the queue from which each message was dead-lettered)")
	c.Flags().Float64Var(&m.rate.rate, "rate", 0, "most messages a second (default: as fast as possible)")
	return c
}

// moveFlags are the flags of msg move.
type moveFlags struct {
	chosen selection
	to     string
	rate   rateFlags
}

func (m *moveFlags) run(ctx context.Context, n *native.Conn, p *printer, queue string) error {
	pace, err := m.rate.pace()
	if err != nil {
		return err
	}
	to := m.to
	if to != "" {
		to = qualifiedOf(to)
	}
	moved, refused := []movedMessage{}, 0
	err = m.chosen.parts(ctx, n, queue, func(part []*api.MessageSelector) error {
		results, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) ([]*api.MoveResult, error) {
			return c.MoveStored(ctx, qualifiedOf(queue), to, m.chosen.force, part...)
		})
		if err != nil {
			return err
		}
		for i, r := range results {
			one := movedMessage{Message: selectorText(part[i]), Destination: r.GetDestination()}
			if one.Refused = r.GetFailure().GetMessage(); one.Refused != "" {
				refused++
				p.say("not moved: %s: %s", one.Message, one.Refused)
			} else {
				one.Sequence = sequenceText(r.GetSequenceNumber())
			}
			moved = append(moved, one)
		}
		return pace.Wait(ctx, int64(len(part)))
	})
	return p.changedStored(map[string]any{"messages": moved}, len(moved), refused, "moved", err)
}

// changedStored prints the outcome of a change of stored messages. err ended it after the first asked
// of them, of which some were refused.
func (p *printer) changedStored(doc map[string]any, asked, refused int, past string, err error) error {
	if err != nil && asked == 0 {
		return err
	}
	var printed error
	if p.format.OfDocument() {
		printed = p.print(doc, nil)
	}
	if err != nil {
		p.say("%s %s before an error", past, plural.Count(asked-refused, "message", "messages"))
		return err
	}
	return errors.Join(printed, p.changed(refused, asked, past))
}

func selectorText(s *api.MessageSelector) string {
	if s.GetMessageId() != "" {
		return s.GetMessageId()
	}
	return sequenceText(s.GetSequenceNumber())
}

func discardMessageCommand(o *options) *cobra.Command {
	f, q := &selection{}, &question{}
	c := q.of(&cobra.Command{
		Use: "discard QUEUE (--sequence NUMBER | --message ID | FILTER)...", Short: "Delete stored messages that you did not receive",
		Long: "Delete stored messages in any state without receiving them. Their deduplication ids stay known. To delete received\n" +
			"messages, use seriatim msg delete.\n\n" +
			"With a filter, as seriatim msg find has, all matching messages go, but for those in flight.",
		Example: "  seriatim msg discard orders.fifo --sequence 10000000000000000042\n" +
			"  seriatim msg discard orders.fifo --older-than 24h --state visible --dry-run\n" +
			"  seriatim msg discard orders.fifo --message 8e0da8fa-6d76-4db7-ae87-80b7ef0cd6cc --yes",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			total, err := 0, error(nil)
			if !q.skipped() {
				total, err = f.count(cmd.Context(), n, args[0])
			}
			if err != nil {
				return err
			}
			effect := fmt.Sprintf("%s loses %s. This cannot be undone.", args[0], f.description(total))
			if err := q.ask(cmd, p, effect, "the name of the queue", args[0]); err != nil {
				return err
			}
			return f.discard(cmd.Context(), n, p, args[0])
		}),
	})
	f.bind(c, "delete messages in flight, too; the receipt handles of their receivers end")
	return c
}

// discard deletes the chosen messages.
func (f *selection) discard(ctx context.Context, n *native.Conn, p *printer, queue string) error {
	asked, refused := 0, 0
	err := f.parts(ctx, n, queue, func(part []*api.MessageSelector) error {
		err := n.Do(ctx, 0, func(ctx context.Context, c *api.Client) error {
			return c.DeleteStored(ctx, qualifiedOf(queue), f.force, part...)
		})
		batch, some := errors.AsType[*api.BatchError](err)
		if err != nil && !some {
			return err
		}
		asked += len(part)
		for i := range part {
			if some && batch.Failures[i] != nil {
				refused++
				p.say("not deleted: %s: %s", selectorText(part[i]), batch.Failures[i])
			}
		}
		return nil
	})
	return p.changedStored(map[string]any{"deleted": asked - refused}, asked, refused, "deleted", err)
}
