package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
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
	fl := c.Flags()
	fl.StringVar(&f.at, "at", "", "time of delivery, such as 2026-12-24T18:00:00Z or with an offset, or in milliseconds since 1970")
	fl.DurationVar(&f.in, "in", 0, "time until delivery, such as 90s or 24h, by the clock of this machine")
	fl.StringVar(&f.partitionKey, "partition-key", "", "partition key; a group must be equal to it")
	f.message.bind(c, "message group id")
	f.message.bindTrace(c)
	c.MarkFlagsMutuallyExclusive("at", "in")
	return c
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
	forget, q := false, &question{}
	c := &cobra.Command{
		Use: "cancel QUEUE SEQUENCE-NUMBER...", Short: "Delete scheduled messages before they are delivered",
		Args: arguments.AtLeast("QUEUE", "SEQUENCE-NUMBER"),
		Long: "Delete scheduled messages by the sequence numbers that seriatim msg schedule printed. You cannot cancel a message\n" +
			"whose time has come. The queue remembers the deduplication ids of cancelled messages unless you add --forget.",
		Example: "  seriatim msg cancel orders.fifo 10000000000000000017 --yes\n" +
			"  seriatim msg cancel orders.fifo 10000000000000000017 10000000000000000018 --forget --yes",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return cancelScheduled(cmd, n, p, forget, q, args)
		}),
	}
	c.Flags().BoolVar(&forget, "forget", false, "let the deduplication ids be sent again at once")
	return q.of(c)
}

// cancelScheduled cancels one number after another, and reports each that was refused.
func cancelScheduled(cmd *cobra.Command, n *native.Conn, p *printer, forget bool, q *question, args []string) error {
	numbers := make([]uint64, len(args)-1)
	for i, text := range args[1:] {
		number, err := parseSequence("SEQUENCE-NUMBER", text)
		if err != nil {
			return err
		}
		numbers[i] = number
	}
	effect := plural.Count(len(numbers), "scheduled message", "scheduled messages") + " of " + nameOf(args[0]) + " will not be delivered."
	if err := q.ask(cmd, p, effect, "the name of the queue", nameOf(args[0])); err != nil {
		return err
	}
	refused := []refusedNumber{}
	for i, number := range numbers {
		err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
			return c.CancelScheduled(ctx, qualifiedOf(args[0]), forget, number)
		})
		var failure *api.FailureError
		switch {
		case err == nil:
		case len(numbers) == 1 || !errors.As(err, &failure):
			if i > 0 {
				p.say("cancelled %d of %d before an error", i-len(refused), len(numbers))
			}
			return err
		default:
			p.say("not cancelled: %s: %s", args[i+1], failure)
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
