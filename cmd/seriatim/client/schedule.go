package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// sequenceText formats a sequence number of the native API, empty for none.
func sequenceText(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// parseSequence is the inverse of sequenceText. what names the flag or argument in an error.
func parseSequence(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, exit.New(exit.Usage, fmt.Errorf("%s %q is no sequence number", what, text),
			"seriatim msg peek QUEUE shows the sequence numbers")
	}
	return n, nil
}

type scheduleFlags struct {
	at           string
	in           time.Duration
	message      messageFlags
	partitionKey string
}

func scheduleCommand(o *options) *cobra.Command {
	f := &scheduleFlags{}
	c := &cobra.Command{
		Use: "schedule QUEUE [BODY] --at TIME|--in DURATION", Short: "Send one message for delivery at a given time",
		Long: "Send one message to a FIFO queue for delivery at a given time. Without BODY, or with -, the body is read from standard\n" +
			"input. The queue checks for duplicates now. seriatim msg cancel cancels the message by the printed sequence number.",
		Example: "  seriatim msg schedule orders.fifo '{\"remind\":17}' --at 2026-12-24T18:00:00Z --group customer-9 " +
			"--deduplication-id remind-17\n" +
			"  seriatim msg schedule orders.fifo hello --in 90s --group g --deduplication-id 1",
		Args:              arguments.OptionalLast("QUEUE", "BODY"),
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return schedule(cmd, n, p, f, args)
		}),
	}
	f.bind(c)
	f.message.bind(c, "message group id")
	f.message.bindTrace(c)
	return c
}

// bind adds the flags that place a message.
func (f *scheduleFlags) bind(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.at, "at", "", "time of delivery, such as 2026-12-24T18:00:00Z or with an offset, or in milliseconds since 1970")
	fl.DurationVar(&f.in, "in", 0, "time until delivery, such as 90s or 24h, by the clock of this machine")
	fl.StringVar(&f.partitionKey, "partition-key", "", "partition key; a group must be equal to it")
	c.MarkFlagsMutuallyExclusive("at", "in")
}

// dueMs returns the time of delivery in milliseconds since 1970, 0 if none is given.
func (f *scheduleFlags) dueMs(cmd *cobra.Command) (int64, error) {
	if !cmd.Flags().Changed("at") && !cmd.Flags().Changed("in") {
		return 0, nil
	}
	at, err := f.due(cmd)
	return at.UnixMilli(), err
}

// earliestDue catches times in seconds and dates without dashes: read as milliseconds, they are
// earlier.
var earliestDue = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// dueYears bounds the time of a schedule, which catches typing errors.
const dueYears = 100

// due returns the time of delivery.
func (f *scheduleFlags) due(cmd *cobra.Command) (time.Time, error) {
	const hint = "write --at 2026-12-24T18:00:00Z, or --in 90s"
	if f.in < 0 {
		return time.Time{}, exit.New(exit.Usage, fmt.Errorf("--in %v is in the past", f.in), hint)
	}
	last := time.Now().AddDate(dueYears, 0, 0)
	if cmd.Flags().Changed("in") {
		at := time.Now().Add(f.in)
		if at.After(last) {
			return time.Time{}, exit.New(exit.Usage, fmt.Errorf("--in %v is more than %d years away", f.in, dueYears), hint)
		}
		return at, nil
	}
	if !cmd.Flags().Changed("at") {
		return time.Time{}, exit.New(exit.Usage, errors.New("--at is missing"), hint)
	}
	if millis, err := strconv.ParseInt(f.at, 10, 64); err == nil {
		at := time.UnixMilli(millis).UTC()
		if at.Before(earliestDue) { // a number of seconds, or a date
			return time.Time{}, exit.New(exit.Usage,
				fmt.Errorf("--at %s is in milliseconds since 1970 and means %s", f.at, at.Format(time.RFC3339)), hint)
		}
		if at.After(last) { // a date with a time, or microseconds
			return time.Time{}, exit.New(exit.Usage,
				fmt.Errorf("--at %s is in milliseconds since 1970 and means a time more than %d years away", f.at, dueYears), hint)
		}
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, f.at)
	switch {
	case err != nil:
		return time.Time{}, exit.New(exit.Usage, fmt.Errorf("--at %q is no time", f.at), hint)
	case at.After(last):
		return time.Time{}, exit.New(exit.Usage, fmt.Errorf("--at %s is more than %d years away", f.at, dueYears), hint)
	}
	return at, nil
}

func schedule(cmd *cobra.Command, n *native.Conn, p *printer, f *scheduleFlags, args []string) error {
	at, err := f.due(cmd)
	if err != nil {
		return err
	}
	body, err := contentOf(cmd, "body", args)
	if err != nil {
		return err
	}
	m, err := f.message.message(cmd, body)
	if err != nil {
		return err
	}
	m.PartitionKey = f.partitionKey
	return printSent(cmd, n, p, func(ctx context.Context, c *api.Client) ([]*api.Result, error) {
		return c.Schedule(ctx, qualifiedOf(args[0]), at, m)
	})
}

func cancelScheduledCommand(o *options) *cobra.Command {
	return cancellation(o, &cobra.Command{
		Use: "cancel QUEUE SEQUENCE-NUMBER...", Short: "Delete scheduled messages before they are delivered",
		Args: arguments.AtLeast("QUEUE", "SEQUENCE-NUMBER"),
		Long: "Delete scheduled messages by the sequence numbers that seriatim msg schedule printed. You cannot cancel a message\n" +
			"whose time has come. The queue remembers the deduplication ids of cancelled messages unless you add --forget.",
		Example: "  seriatim msg cancel orders.fifo 10000000000000000017 --yes\n" +
			"  seriatim msg cancel orders.fifo 10000000000000000017 10000000000000000018 --forget --yes",
		ValidArgsFunction: o.completeQueues,
	}, "queue", (*api.Client).CancelScheduled)
}

func topicCancelCommand(o *options) *cobra.Command {
	return cancellation(o, &cobra.Command{
		Use: "cancel TOPIC SEQUENCE-NUMBER...", Short: "Delete scheduled messages before they are published",
		Args: arguments.AtLeast("TOPIC", "SEQUENCE-NUMBER"),
		Long: "Delete scheduled messages of a FIFO topic by the sequence numbers that seriatim topic publish printed. You cannot\n" +
			"cancel a message whose time has come. The topic remembers the deduplication ids of cancelled messages unless you add\n" +
			"--forget.",
		Example: "  seriatim topic cancel sales.fifo 10000000000000000017 --yes\n" +
			"  seriatim topic cancel sales.fifo 10000000000000000017 10000000000000000018 --forget --yes",
		ValidArgsFunction: o.completeTopics,
	}, "topic", (*api.Client).CancelScheduledPublishes)
}

// cancelCall cancels scheduled messages of a queue or topic.
type cancelCall func(c *api.Client, ctx context.Context, name string, forget bool, numbers ...uint64) error //nolint:revive // a method

// cancellation completes a command that cancels scheduled messages. kind is queue or topic.
func cancellation(o *options, c *cobra.Command, kind string, cancel cancelCall) *cobra.Command {
	forget, q := false, &question{}
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		numbers := make([]uint64, len(args)-1)
		for i, text := range args[1:] {
			number, err := parseSequence("SEQUENCE-NUMBER", text)
			if err != nil {
				return err
			}
			numbers[i] = number
		}
		effect := fmt.Sprintf("%s of %s will not be delivered.", plural.Count(len(numbers), "scheduled message", "scheduled messages"),
			nameOf(args[0]))
		if err := q.ask(cmd, p, effect, "the name of the "+kind, nameOf(args[0])); err != nil {
			return err
		}
		return cancelEach(p, args[1:], numbers, func(number uint64) error {
			return n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				return cancel(c, ctx, qualifiedOf(args[0]), forget, number)
			})
		})
	})
	c.Flags().BoolVar(&forget, "forget", false, "let the deduplication ids be sent again at once")
	return q.of(c)
}

// cancelEach cancels one number after another, and reports each that was refused. texts are the numbers
// as given.
func cancelEach(p *printer, texts []string, numbers []uint64, cancel func(uint64) error) error {
	refused := []refusedNumber{}
	for i, number := range numbers {
		err := cancel(number)
		var failure *api.FailureError
		switch {
		case err == nil:
		case len(numbers) == 1 || !errors.As(err, &failure):
			if i > 0 {
				p.say("cancelled %d of %d before an error", i-len(refused), len(numbers))
			}
			return err
		default:
			p.say("not cancelled: %s: %s", texts[i], failure)
			refused = append(refused, refusedNumber{sequenceText(number), failure.Reason, failure.Message})
		}
	}
	document := map[string]any{"cancelled": len(numbers) - len(refused), "refused": refused}
	if len(refused) == 0 {
		return p.done(document, "cancelled %d", len(numbers))
	}
	var err error
	if p.format.OfDocument() {
		err = p.print(document, nil)
	}
	return errors.Join(err, p.changed(len(refused), len(numbers), "cancelled"))
}

// refusedNumber is a scheduled message that was not cancelled, in JSON output.
type refusedNumber struct {
	SequenceNumber string `json:"sequenceNumber"`
	Code           string `json:"code"`
	Message        string `json:"message"`
}

// scheduledPublish is a message that a topic publishes later, in JSON output.
type scheduledPublish struct {
	SequenceNumber  string   `json:"sequenceNumber"`
	MessageID       string   `json:"messageId"`
	DueAtMs         int64    `json:"dueAtMs"`
	GroupID         string   `json:"groupId,omitempty"`
	DeduplicationID string   `json:"deduplicationId,omitempty"`
	PartitionKey    string   `json:"partitionKey,omitempty"`
	Subject         string   `json:"subject,omitempty"`
	Attributes      []string `json:"attributes,omitempty"` // names
	Message         string   `json:"message"`
	MessageEncoding string   `json:"messageEncoding,omitempty"` // base64 for bytes
}

func topicScheduledCommand(o *options) *cobra.Command {
	var from string
	limit := int32(0)
	c := &cobra.Command{
		Use: "scheduled TOPIC", Short: "List the scheduled messages of a FIFO topic", Args: arguments.Exactly("TOPIC"),
		Long: "List the messages that a FIFO topic publishes later, in the order in which it accepted them.\n\n" +
			"A table shows the beginning of each message, -o json all of it. If there are more messages, continue with --from and\n" +
			"the value \"next\" of the JSON.",
		Example: "  seriatim topic scheduled sales.fifo\n" +
			"  seriatim topic scheduled sales.fifo --limit 100 -o json | jq -r '.messages[].sequenceNumber'",
		ValidArgsFunction: o.completeTopics,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			begin := uint64(0)
			if from != "" {
				var err error
				if begin, err = parseSequence("--from", from); err != nil {
					return err
				}
			}
			return printScheduled(cmd, n, p, args[0], begin, limit)
		}),
	}
	c.Flags().StringVar(&from, "from", "", "sequence number to begin at")
	c.Flags().Int32VarP(&limit, "limit", "n", 10, "most messages to show, up to 100")
	return c
}

// deliveryOf returns the content of a message as that of a delivery.
func deliveryOf(m *api.TopicMessage) *api.Delivery {
	d := &api.Delivery{Body: m.GetMessage(), BodyBytes: m.GetBodyBytes(), Amqp: m.GetAmqp()}
	switch {
	case d.GetAmqp() != nil:
		d.Format = api.FormatAMQP
	case m.BodyBytes != nil:
		d.Format = api.FormatBytes
	}
	return d
}

func printScheduled(cmd *cobra.Command, n *native.Conn, p *printer, topic string, from uint64, limit int32) error {
	next := uint64(0)
	found, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (list []*api.ScheduledPublish, err error) {
		list, next, err = c.ScheduledPublishes(ctx, qualifiedOf(topic), from, limit)
		return list, err
	})
	if err != nil {
		return err
	}
	list := make([]scheduledPublish, len(found))
	for i, s := range found {
		m := s.GetMessage()
		text, encoding := transfer.Body(deliveryOf(m))
		list[i] = scheduledPublish{
			SequenceNumber: sequenceText(s.GetSequenceNumber()), MessageID: s.GetMessageId(), DueAtMs: m.GetEnqueueAtMs(),
			GroupID: m.GetGroupId(), DeduplicationID: m.GetDeduplicationId(), PartitionKey: m.GetPartitionKey(), Subject: m.GetSubject(),
			Attributes: slices.Sorted(maps.Keys(m.GetAttributes())), Message: text, MessageEncoding: encoding,
		}
	}
	document := map[string]any{"topic": lastElement(topic), "messages": list}
	if next != 0 {
		document["next"] = sequenceText(next)
	}
	if p.format.ForPeople() && next != 0 {
		p.say("there are more: continue with --from %d", next)
	}
	if p.format.ForPeople() && len(list) == 0 {
		p.say("no message")
		return nil
	}
	return p.print(document, func() table {
		t := table{heading: []string{"SEQUENCE", "MESSAGE ID", "GROUP", "DUE", "MESSAGE"}}
		for _, m := range list {
			shown := shortened(transfer.ShownBody(m.Message, m.MessageEncoding))
			t.add(m.SequenceNumber, m.MessageID, orDash(m.GroupID), clockTime(decimal(m.DueAtMs)), shown)
		}
		return t
	})
}
