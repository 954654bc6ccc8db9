package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// batchMax is the most entries that one batch request of the API may have.
const batchMax = 10

func deleteCommand(o *options) *cobra.Command {
	return handleCommand(o, &cobra.Command{
		Use: "delete QUEUE RECEIPT-HANDLE...", Short: "Delete received messages by their receipt handles",
		Example: "  seriatim msg delete orders.fifo 7f6e...",
	}, func(*cobra.Command) (handleChange, error) { return deletion, nil })
}

func extendCommand(o *options) *cobra.Command {
	var seconds int
	c := handleCommand(o, &cobra.Command{
		Use: "extend QUEUE RECEIPT-HANDLE... --visibility-timeout SECONDS", Short: "Keep received messages hidden for longer",
		Long: "Keep received messages hidden: their visibility timeouts end the given number of seconds from now, but at most\n" +
			"12 hours after they were received.",
		Example: "  seriatim msg extend orders.fifo 7f6e... --visibility-timeout 600",
	}, func(cmd *cobra.Command) (handleChange, error) {
		if !cmd.Flags().Changed("visibility-timeout") {
			return handleChange{}, exit.New(exit.Usage, fmt.Errorf("--visibility-timeout is missing"),
				"give the seconds from now: --visibility-timeout 600")
		}
		return visibility(seconds, "extended"), nil
	})
	c.Flags().IntVar(&seconds, "visibility-timeout", 0, "seconds from now, 0 to 43200")
	return c
}

func releaseCommand(o *options) *cobra.Command {
	return handleCommand(o, &cobra.Command{
		Use: "release QUEUE RECEIPT-HANDLE...", Short: "Make received messages visible again at once",
		Long: "Make received messages visible again: their visibility timeouts end now, and any consumer can receive them. Their\n" +
			"receive counts stay, so a message that is released too often goes to the dead-letter queue if there is one.",
		Example: "  seriatim msg release orders.fifo 7f6e...",
	}, func(*cobra.Command) (handleChange, error) { return visibility(0, "released"), nil })
}

// handleCommand completes a command that changes received messages and prints the outcome.
func handleCommand(o *options, c *cobra.Command, of func(*cobra.Command) (handleChange, error)) *cobra.Command {
	c.Args, c.ValidArgsFunction = arguments.AtLeast("QUEUE", "RECEIPT-HANDLE"), o.completeQueues
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		change, err := of(cmd)
		if err != nil {
			return err
		}
		handles := args[1:]
		refused, err := changeAll(cmd.Context(), n, p, qualifiedOf(args[0]), handles, change)
		if err != nil {
			return err
		}
		if p.format.OfDocument() {
			err = p.print(map[string]any{change.past: len(handles) - len(refused), "refused": refused}, nil)
		}
		return errors.Join(err, p.changed(len(refused), len(handles), change.past))
	})
	return c
}

// handleChange describes a change of messages by their receipt handles.
type handleChange struct {
	call func(ctx context.Context, c *api.Client, queue string, handles []string) error
	past string // for messages, and the key in JSON
}

var deletion = handleChange{func(ctx context.Context, c *api.Client, queue string, handles []string) error {
	return c.Delete(ctx, queue, handles...)
}, "deleted"}

// visibility sets the visibility timeouts of messages.
func visibility(seconds int, past string) handleChange {
	return handleChange{func(ctx context.Context, c *api.Client, queue string, handles []string) error {
		return c.ChangeVisibility(ctx, queue, *number(seconds), handles...)
	}, past}
}

// refusedHandle is a message that was not changed, in JSON output.
type refusedHandle struct {
	ReceiptHandle string `json:"receiptHandle"`
	Code          string `json:"code"`
	Message       string `json:"message"`
}

// changed prints the number of changed messages. It returns an error if some were refused.
func (p *printer) changed(refused, total int, past string) error {
	if refused > 0 {
		return exit.New(exit.Partial, fmt.Errorf("%d of %s %s not %s", refused, plural.Count(total, "message", "messages"),
			plural.Form(refused, "was", "were"), past), "")
	}
	p.say("%s %d", past, total)
	return nil
}

// changeAll applies a change to every handle in batches. It prints and returns each refusal.
func changeAll(ctx context.Context, n *native.Conn, p *printer, queue string, handles []string, c handleChange) ([]refusedHandle, error) {
	refused, asked := []refusedHandle{}, 0
	for part := range slices.Chunk(handles, batchMax) {
		err := n.Do(ctx, 0, func(ctx context.Context, to *api.Client) error { return c.call(ctx, to, queue, part) })
		batch, some := errors.AsType[*api.BatchError](err)
		if err != nil && !some {
			if asked > 0 {
				p.say("%s %d of %d before an error", c.past, asked-len(refused), len(handles))
			}
			return nil, err
		}
		asked += len(part)
		for i := range part {
			if !some || batch.Failures[i] == nil {
				continue
			}
			p.say("not %s: %s: %s", c.past, part[i], batch.Failures[i])
			refused = append(refused, refusedHandle{part[i], batch.Failures[i].Reason, batch.Failures[i].Message})
		}
	}
	return refused, nil
}
